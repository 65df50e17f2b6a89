// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const long = `Ask a server one question, and print the answer. The command connects to a ready pod like port-forward.
By default it uses the first chat model of the spec that the server lists, else the first one that the server lists;
--model chooses another by the name that the API uses (see kubectl llamastack status). With --output, it prints the
complete response of the server.

If the server has authentication, --token-from reads a token from a Secret in the namespace, with your permissions.
--token is the token itself, which other users of your machine may see among its processes. In this command, --token is
sent to the server, not to the cluster.`

const examples = `  kubectl llamastack chat my-stack "Why is the sky blue?"

  # Another model
  kubectl llamastack chat my-stack --model vllm/llama3.2-8b "Hello"

  # A server with authentication
  kubectl llamastack chat my-stack --token-from my-token/token "Hello"`

type options struct {
	cluster.Flags
	credentials
	output  cli.Output
	model   string
	timeout time.Duration
}

// New returns the chat command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               `chat NAME "MESSAGE"`,
		Short:             "Ask a server one question",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		PreRunE:           func(*cobra.Command, []string) error { return o.check() },
		RunE: cluster.Run(&o.Flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return o.run(ctx, c, args[0], args[1], streams.Out)
		}),
	}
	o.AddWithoutTokenTo(cmd)
	o.output.AddTo(cmd)
	cmd.Flags().StringVarP(&o.model, "model", "m", "", "model to use, by its name in API requests (default the first "+
		"one of the spec that can chat)")
	cmd.Flags().StringVar(&o.token, "token", "", "token for the server, sent as Authorization: Bearer")
	cmd.Flags().StringVar(&o.from, "token-from", "", "Secret and key of the token for the server: SECRET/KEY")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "timeout for the response")
	return cmd
}

// errDone means that the response has arrived; it ends the port forwarding.
var errDone = errors.New("answered")

func (o *options) run(ctx context.Context, c *cluster.Connection, name, message string, out io.Writer) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	cr, pod, err := c.ReadyPod(ctx, name)
	if err != nil {
		return err
	}
	token, err := o.read(ctx, c)
	if err != nil {
		return err
	}
	err = c.Forward(ctx, pod, 0, objects.Port(&cr.Spec), func(local int32) error {
		s := newServer(fmt.Sprintf("%s://127.0.0.1:%d", cluster.Scheme(cr), local), token)
		model := o.model
		if model == "" {
			var err error
			if model, err = s.firstModel(ctx, &cr.Spec); err != nil {
				return err
			}
		}
		answer, text, err := s.complete(ctx, model, message)
		if err != nil {
			return fmt.Errorf("model %s: %w", model, err)
		}
		err = o.output.Print(out, answer, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, text)
			return err
		})
		return cmp.Or(err, errDone)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

type server struct {
	url    string
	token  secret.Value
	client *http.Client
}

func newServer(url string, token secret.Value) *server {
	return &server{url: url, token: token, client: &http.Client{Transport: cluster.RejectRedirects(&http.Transport{
		// The API server authenticates the pod; certificates are never for the loopback address.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	})}}
}

var errNoModel = errors.New("the server lists no model that can chat: register one under spec.resources.models, or " +
	"choose one with --model")

// firstModel returns the first model of type llm in the spec that the server lists, else the first one that it lists.
func (s *server) firstModel(ctx context.Context, spec *v1alpha2.LlamaStackDistributionSpec) (string, error) {
	var list struct {
		Data []struct {
			ID         string `json:"id"`
			Identifier string `json:"identifier"`
			ModelType  string `json:"model_type"`
			Metadata   struct {
				ModelType string `json:"model_type"`
			} `json:"custom_metadata"`
		} `json:"data"`
	}
	if err := s.do(ctx, http.MethodGet, "/v1/models", nil, &list); err != nil {
		return "", err
	}
	var listed []string
	for _, m := range list.Data {
		if kind := cmp.Or(m.ModelType, m.Metadata.ModelType, "llm"); kind == "llm" {
			listed = append(listed, cmp.Or(m.ID, m.Identifier))
		}
	}
	if len(listed) == 0 {
		return "", errNoModel
	}
	return cmp.Or(firstOfSpec(spec, listed), listed[0]), nil
}

// firstOfSpec returns the name of the first model of type llm in the spec that is listed, or "".
func firstOfSpec(spec *v1alpha2.LlamaStackDistributionSpec, listed []string) string {
	parsed := parse.Parse(spec)
	first := ""
	for _, group := range parsed.Providers {
		if group.API.Name == "inference" && len(group.Providers) > 0 {
			first = group.Providers[0].EffectiveID()
		}
	}
	for i := range parsed.Models {
		m := &parsed.Models[i]
		if cmp.Or(m.ModelType, v1alpha2.ModelTypeLLM) != v1alpha2.ModelTypeLLM {
			continue
		}
		// The name has the provider's id or not, and providerModelId or not, depending on the release line.
		provider := cmp.Or(m.Provider, first)
		for _, name := range []string{provider + "/" + cmp.Or(m.ProviderModelID, m.Name), provider + "/" + m.Name, m.Name} {
			if slices.Contains(listed, name) {
				return name
			}
		}
	}
	return ""
}

func (s *server) complete(ctx context.Context, model, message string) (raw json.RawMessage, text string, err error) {
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	request := map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": message}}}
	if err := s.do(ctx, http.MethodPost, "/v1/chat/completions", request, &raw); err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, "", err
	}
	if len(answer.Choices) == 0 {
		return nil, "", errors.New("the response of the server has no choices")
	}
	return raw, answer.Choices[0].Message.Content, nil
}

const maxResponse = 16 << 20

func (s *server) do(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	authorize(request, s.token)
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		said := limits.Message(string(text))
		if !s.token.Empty() {
			said = secret.HideIn(said, []secret.Value{s.token})
		}
		if response.StatusCode == http.StatusUnauthorized && s.token.Empty() && strings.Contains(said, "Authentication required") {
			said += "; the server requires a token: send one with --token-from SECRET/KEY"
		}
		return fmt.Errorf("%s %s: the server answers %s: %s", method, path, response.Status, said)
	}
	return json.Unmarshal(text, into)
}
