// SPDX-License-Identifier: Apache-2.0

package modelserverdouble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// EmbeddingDimension is the vector length of the model all-minilm-l6-v2.
const EmbeddingDimension = 384

// embeddingRequest has the used fields of an embedding request.
type embeddingRequest struct {
	Model string `json:"model"`
	// Input is a text or a list of texts.
	Input json.RawMessage `json:"input"`
}

func (d *Double) embed(w http.ResponseWriter, r *http.Request, request Request) {
	var asked embeddingRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&asked)
	request.Model = asked.Model
	d.remember(request)
	if err == nil && !slices.Contains(d.config.Models, asked.Model) {
		d.unknownModel(w, asked.Model)
		return
	}
	var texts []string
	if one := ""; err == nil && json.Unmarshal(asked.Input, &one) == nil {
		texts = []string{one}
	} else if err == nil {
		err = json.Unmarshal(asked.Input, &texts)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_body", fmt.Sprintf("the body cannot be read: %v", err))
		return
	}
	data := make([]any, 0, len(texts))
	for i, text := range texts {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": Embedding(text)})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "model": asked.Model, "usage": usage()})
}

// Embedding returns the vector of a text. It depends on the text alone and is never zero.
func Embedding(text string) []float64 {
	vector := make([]float64, EmbeddingDimension)
	vector[0] = 1
	for i, b := range []byte(text) {
		vector[i%EmbeddingDimension] += float64(b) / 256
	}
	return vector
}

func (d *Double) unknownModel(w http.ResponseWriter, model string) {
	writeError(w, http.StatusNotFound, "model_not_found", fmt.Sprintf("no model %q; there is: %s", model, strings.Join(d.config.Models, ", ")))
}
