// Package batch talks to `kollect cel --batch`: JSON lines in, JSON lines out, in order.
package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"cel.dev/expr"
	"google.golang.org/protobuf/encoding/protojson"

	// Values hold these messages inside an Any.
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// Request is one line for the program.
type Request struct {
	ID        string                     `json:"id"`
	Expr      string                     `json:"expr"`
	Container string                     `json:"container,omitempty"`
	Bindings  map[string]json.RawMessage `json:"bindings,omitempty"`
	Types     map[string]string          `json:"types,omitempty"`
	Functions map[string]string          `json:"functions,omitempty"`
	Check     bool                       `json:"check"`
	Type      bool                       `json:"type,omitempty"`
	Evaluate  bool                       `json:"evaluate"`
}

// Answer is one line from the program: a value, an error with its phase, or, without evaluation, neither.
type Answer struct {
	ID    string
	Value *expr.Value
	Error string
	Phase string
	Type  string
}

type answerLine struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
	Phase string          `json:"phase"`
	Type  string          `json:"type"`
}

// ProtoJSON writes a value as the program reads it.
func ProtoJSON(value *expr.Value) (json.RawMessage, error) {
	return protojson.Marshal(value)
}

// Run sends all requests to one process and reads an answer for each.
func Run(program string, requests []Request) ([]Answer, error) {
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	encoder.SetEscapeHTML(false)
	for _, request := range requests {
		if err := encoder.Encode(request); err != nil {
			return nil, fmt.Errorf("request %s: %w", request.ID, err)
		}
	}
	command := exec.Command(program, "cel", "--batch")
	command.Stdin = &in
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, stderr.String())
	}
	answers := make([]Answer, 0, len(requests))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		answer, err := decode(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w: %.300s", len(answers)+1, err, lines.Text())
		}
		answers = append(answers, answer)
	}
	if len(answers) != len(requests) {
		return nil, fmt.Errorf("%d requests, %d answers", len(requests), len(answers))
	}
	for n := range answers {
		if answers[n].ID != requests[n].ID {
			return nil, fmt.Errorf("answer %d is for %q, not for %q", n+1, answers[n].ID, requests[n].ID)
		}
	}
	return answers, nil
}

func decode(line []byte) (Answer, error) {
	var raw answerLine
	if err := json.Unmarshal(line, &raw); err != nil {
		return Answer{}, err
	}
	answer := Answer{ID: raw.ID, Error: raw.Error, Phase: raw.Phase, Type: raw.Type}
	if raw.Value != nil {
		answer.Value = &expr.Value{}
		if err := protojson.Unmarshal(raw.Value, answer.Value); err != nil {
			return Answer{}, err
		}
	}
	if (answer.Value == nil) == (answer.Phase == "") && answer.Type == "" {
		return Answer{}, fmt.Errorf("neither a value nor an error")
	}
	return answer, nil
}
