# SPDX-License-Identifier: Apache-2.0
#
# Makes a base configuration for the images that build.sh builds one for documents: with a vector store in a file, and with what takes text out of files.
# Not the image's own default: from OGX 1.3 on, processors of files take two processes and seconds to stop.
s/^- vector_io$/&\n- file_processors/
/^  vector_io: \[\]$/c\
  vector_io:\
  - provider_id: sqlite-vec\
    provider_type: inline::sqlite-vec\
    config:\
      db_path: ${env.SQLITE_STORE_DIR:=/tmp}/sqlite_vec.db\
      persistence:\
        backend: kv_default\
        namespace: vector_io::sqlite_vec\
\
  file_processors:\
  - provider_id: pypdf\
    provider_type: inline::pypdf
# Up to release line 0.8, a response with file search fails without this section.
/^registered_resources:$/i\
vector_stores:\
  default_provider_id: sqlite-vec\

