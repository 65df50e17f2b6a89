// SPDX-License-Identifier: Apache-2.0

package modelserverdouble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// completionID names every completion: nothing depends on it being unique.
const completionID = "chatcmpl-double"

// chatRequest is the part of a chat completion request that a Double looks at.
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

// complete answers a chat completion.
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
	// guards begins the names of models that judge texts as Llama Guard does.
	guards = "llama-guard"
	// Harmful is what those models find harmful.
	Harmful = "forbidden"
)

// Answer is the text with which a Double's model answers a last message.
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

// searches is the call of the first tool that searches, for the last message; nil where there is no such tool, or the message is not the user's: then it
// may be what the tool found.
func (c *chatRequest) searches() map[string]any {
	if c.Messages[len(c.Messages)-1].Role != "user" {
		return nil
	}
	for _, tool := range c.Tools {
		if strings.Contains(tool.Function.Name, "search") {
			// Maps of strings always encode.
			query, _ := json.Marshal(map[string]string{"query": lastText(*c)})
			return map[string]any{
				"index": 0, "id": "call-double", "type": "function", "function": map[string]any{"name": tool.Function.Name, "arguments": string(query)},
			}
		}
	}
	return nil
}

// stream answers as server-sent events, word by word.
func stream(w http.ResponseWriter, chat chatRequest) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	send := func(delta any, finish any) {
		writeEvent(w, chunk(chat.Model, []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil))
		// A connection that cannot be flushed still gets everything at its end.
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
	// Maps of strings, numbers and slices always encode.
	data, _ := json.Marshal(body)
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
}

// usage is what every completion is said to have cost, in tokens.
func usage() map[string]any {
	return map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
}

// lastText is the text of the last message, its parts joined.
func lastText(chat chatRequest) string {
	content := chat.Messages[len(chat.Messages)-1].Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	// Content that is neither a text nor parts is answered as if it were empty.
	_ = json.Unmarshal(content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}
