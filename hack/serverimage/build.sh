#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [--ref REF] [LINE|VERSION|newest]: builds a runnable image of the real server from its package, without torch, and
# prints the path of the archive. Built once per recipe and kept in the cache. Needs root, Go, debootstrap and a Debian keyring.
#
# The image behaves as the published one (entrypoint.sh). Its own default config is light.yaml, of OGX light-ogx.yaml.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/server/lib.sh
. "$here/../../tests/server/lib.sh"

# The package that has the tokenizer's file, which providers of vector stores look for when they start.
tokenizer_package=$(pinned "$locks/tools.txt" litellm)
tokenizer=9b5ad71b2ce5302211f9c61530b329a4922fc6a4 # cl100k_base; tiktoken checks its hash

suite=trixie
python=3.13 # that suite's
tokenizers=/usr/local/share/tiktoken
ref=
release=0.7.1
while [ $# -gt 0 ]; do
  case $1 in
  --ref) ref=${2:?--ref needs a value} && shift 2 ;;
  -*) die "usage: build.sh [--ref REF] [LINE|VERSION|newest]" ;;
  *) release=$1 && shift ;;
  esac
done
load_release "$release"
ref=${ref:-localhost/$package-light:$version}
case $package in # the names of the module, of the command and of its home, and the light config
llama-stack) module=llama_stack cli=llama home=/.llama light=light.yaml ;;
ogx) module=ogx cli=ogx home=/.ogx light=light-ogx.yaml ;;
*) die "no names are known for the package $package" ;;
esac

lock=$(lock_of)
recipe=$(cat "$here"/{build.sh,entrypoint.sh,"$light"} "$here"/../cluster/{cmd/image/{main,options},internal/imagefile/{image,layer,recipe,tree}}.go "$lock" <(echo "$ref $uv_version $tokenizer_package $(uname -m)") | sha256sum | cut -c1-12)
archive=$(cache_dir)/serverimage/$package-$version-$recipe/image.tar

# install_server puts the package and its dependencies into the root file system, for that system's Python.
install_server() {
  local root=$1 uv site=$1/usr/local/lib/python$python/dist-packages
  uv=$(uv_bin)
  # shellcheck disable=SC2046,SC2086 # one word for each package
  "$uv" pip install --quiet --only-binary :all: --require-hashes --constraints "$lock" --python "$(find_python)" --python-version "$python" \
    --python-platform "$(uname -m)-manylinux_2_28" --target "$site" $(pinned "$lock" "$package" $vector_packages)
  "$uv" pip install --quiet --only-binary :all: --require-hashes --constraints "$locks/tools.txt" --python "$(find_python)" --no-deps --target "$scratch/tokenizer" \
    "$tokenizer_package"
  install -D -m 644 "$scratch/tokenizer/litellm/litellm_core_utils/tokenizers/$tokenizer" "$root$tokenizers/$tokenizer"
  rm -rf "$site/oci" # 200 MB that only remote::oci needs
  # The commands were written for the Python that uv runs in.
  sed -i '1s|^#!.*python.*|#!/usr/bin/python3|' "$site"/bin/*
  mv "$site"/bin/* "$root/usr/local/bin/"
  install -D -m 644 "$here/$light" "$site/$module/distributions/light/config.yaml"
}

# trim takes away what no container needs and what names this machine.
trim() {
  local root=$1
  rm -rf "$root"/var/cache/{apt,debconf} "$root"/var/lib/apt/lists "$root"/var/log/* "$root"/usr/share/{doc,locale,man} \
    "$root"/etc/{hostname,resolv.conf}
}

# compile writes the byte code, which an unprivileged user cannot do later: without it each start takes seconds longer.
# It is never checked against the source, because the image's files all have the same time.
compile() {
  chroot "$1" python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash \
    "/usr/lib/python$python" "/usr/local/lib/python$python" >&2
}

build() {
  local root
  [ ! -f "$archive" ] || return 0
  [ "$(id -u)" = 0 ] || die "must run as root: debootstrap and chroot need it"
  command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
  mkdir -p "$(dirname "$archive")"
  scratch=$(mktemp -d "$archive.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  root=$scratch/root
  debootstrap --variant=minbase --include=python3,ca-certificates "$suite" "$root" >"$scratch/debootstrap.log" ||
    die "debootstrap failed: $(tail -n 5 "$scratch/debootstrap.log")"
  install_server "$root"
  trim "$root"
  compile "$root"
  install -m 755 "$here/entrypoint.sh" "$root/usr/local/bin/$package-entrypoint.sh"
  # As in the published image: the group (0 for a user without an entry in passwd) may write here and nowhere else.
  install -d -m 775 "$root$home" "$root/.cache" "$root/app"
  go -C "$here/../cluster" run ./cmd/image --root "$root" --output "$scratch/image.tar" --ref "$ref" --platform "linux/$(dpkg --print-architecture)" \
    --entrypoint "/usr/local/bin/$package-entrypoint.sh" --workdir /app \
    --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env CLI_NAME="$cli" --env DISTRO_NAME=light --env RUN_CONFIG_PATH= --env PYTHONDONTWRITEBYTECODE=1 --env TIKTOKEN_CACHE_DIR="$tokenizers" \
    --label "org.opencontainers.image.title=$package light" --label "org.opencontainers.image.version=$version"
  mv "$scratch/image.tar" "$archive"
}

if [ ! -f "$archive" ]; then
  locked "serverimage-$package-$version" build >&2
fi
echo "$archive"
