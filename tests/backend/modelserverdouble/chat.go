// SPDX-License-Identifier: Apache-2.0

package modelserverdouble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const completionID = "chatcmpl-double"

// chatRequest has the used fields of a chat completion request.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role string `json:"role"`
	// Content is a string or a list of parts.
	Content json.RawMessage `json:"content"`
}

func (d *Double) complete(w http.ResponseWriter, r *http.Request, request Request) {
	var chat chatRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&chat)
	request.Model, request.Stream = chat.Model, chat.Stream
	d.remember(request)
	switch {
	case err != nil:
		writeError(w, http.StatusBadRequest, "invalid_body", fmt.Sprintf("the body cannot be read: %v", err))
	case !slices.Contains(d.config.Models, chat.Model):
		d.unknownModel(w, chat.Model)
	case len(chat.Messages) == 0:
		writeError(w, http.StatusBadRequest, "no_messages", "messages is empty")
	case chat.Stream:
		stream(w, chat)
	default:
		message, finish := map[string]any{"role": "assistant", "content": Answer(chat.Model, lastText(chat))}, "stop"
		if call := chat.searches(); call != nil {
			message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
		}
		writeJSON(w, http.StatusOK, map[string]any{
			"id": completionID, "object": "chat.completion", "created": 0, "model": chat.Model,
			"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
			"usage":   usage(),
		})
	}
}

const (
	// guards is the name prefix of models that classify texts as Llama Guard does.
	guards = "llama-guard"
	// Harmful is the text that those models classify as unsafe.
	Harmful = "forbidden"
)

// Answer returns a model's answer to a last message.
func Answer(model, message string) string {
	switch {
	case !strings.HasPrefix(model, guards):
		return fmt.Sprintf("%s heard: %s", model, message)
	case strings.Contains(message, Harmful):
		return "unsafe\nS1"
	default:
		return "safe"
	}
}

// searches returns a call of the first search tool with the last message. It returns nil without such a tool, and for a
// message that is not the user's, such as a tool result.
func (c *chatRequest) searches() map[string]any {
	if c.Messages[len(c.Messages)-1].Role != "user" {
		return nil
	}
	for _, tool := range c.Tools {
		if strings.Contains(tool.Function.Name, "search") {
			query, _ := json.Marshal(map[string]string{"query": lastText(*c)})
			return map[string]any{
				"index": 0, "id": "call-double", "type": "function", "function": map[string]any{"name": tool.Function.Name, "arguments": string(query)},
			}
		}
	}
	return nil
}

// stream writes the answer as server-sent events, word by word.
func stream(w http.ResponseWriter, chat chatRequest) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	send := func(delta any, finish any) {
		writeEvent(w, chunk(chat.Model, []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil))
		// Without a flush, the client gets everything at the end.
		_ = flusher.Flush()
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	finish := "stop"
	if call := chat.searches(); call != nil {
		send(map[string]any{"tool_calls": []any{call}}, nil)
		finish = "tool_calls"
	} else {
		for _, word := range strings.SplitAfter(Answer(chat.Model, lastText(chat)), " ") {
			send(map[string]any{"content": word}, nil)
		}
	}
	send(map[string]any{}, finish)
	if chat.Options.IncludeUsage {
		writeEvent(w, chunk(chat.Model, []any{}, usage()))
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func chunk(model string, choices []any, usage any) map[string]any {
	return map[string]any{
		"id": completionID, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices, "usage": usage,
	}
}

func writeEvent(w http.ResponseWriter, body map[string]any) {
	data, _ := json.Marshal(body)
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
}

func usage() map[string]any {
	return map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
}

// lastText returns the joined text parts of the last message.
func lastText(chat chatRequest) string {
	content := chat.Messages[len(chat.Messages)-1].Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	// Other content counts as empty.
	_ = json.Unmarshal(content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}
