package svc

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is a Connect error code, such as "permission_denied".
type Code string

// The codes that the service answers with.
const (
	CodeInvalidArgument    Code = "invalid_argument"
	CodeUnauthenticated    Code = "unauthenticated"
	CodePermissionDenied   Code = "permission_denied"
	CodeNotFound           Code = "not_found"
	CodeAborted            Code = "aborted"
	CodeFailedPrecondition Code = "failed_precondition"
	CodeResourceExhausted  Code = "resource_exhausted"
	CodeDeadlineExceeded   Code = "deadline_exceeded"
	CodeUnavailable        Code = "unavailable"
	CodeUnimplemented      Code = "unimplemented"
	CodeInternal           Code = "internal"
	CodeUnknown            Code = "unknown"
)

// Error is what the service refused.
type Error struct {
	Code Code
	// Reason is a word of docs/errors.md, such as "STALE_VERSION"; empty when it was not the service
	// that answered, but a gateway before it.
	Reason string
	// Message is a sentence for people.
	Message string
	// Metadata holds facts for programs, such as "currentVersion".
	Metadata   map[string]string
	HTTPStatus int
	// RetryAfter is the wait that the service asked for; 0 when it did not.
	RetryAfter time.Duration
}

// Error tells reason and message.
func (e *Error) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = string(e.Code)
	}
	return fmt.Sprintf("svc: %s: %s", reason, e.Message)
}

// NoAnswerError tells that no answer came, after all tries. A change that carried a request id may
// have been made: call again with the very same request, and it is not made twice. Do not make a new
// id because of this error.
type NoAnswerError struct {
	// Method that was called, such as "SaveAlertRule".
	Method string
	// Uncertain is true where the request may have reached the service and would have changed something.
	Uncertain bool
	// Err is the last thing that went wrong.
	Err error
}

// Error tells the method and what went wrong.
func (e *NoAnswerError) Error() string {
	if e.Uncertain {
		return fmt.Sprintf("svc: %s: no answer, so it is not known whether it was done: %v", e.Method, e.Err)
	}
	return fmt.Sprintf("svc: %s: no answer: %v", e.Method, e.Err)
}

// Unwrap gives the network's or the context's error.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// errorOf reads Connect's JSON error, or makes one of the status when a gateway answered.
func errorOf(response *http.Response, body []byte) *Error {
	told := struct {
		Code    Code   `json:"code"`
		Message string `json:"message"`
		Details []struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"details"`
	}{}
	result := &Error{HTTPStatus: response.StatusCode, RetryAfter: retryAfter(response.Header)}
	if json.Unmarshal(body, &told) != nil || told.Code == "" {
		result.Code = codeOfStatus(response.StatusCode)
		result.Message = "the service answered HTTP " + strconv.Itoa(response.StatusCode)
		return result
	}
	result.Code, result.Message = told.Code, told.Message
	for _, detail := range told.Details {
		if detail.Type != "svc.options.v1.ErrorInfo" {
			continue
		}
		// Connect writes base64 without padding; other implementations write it.
		value, err := base64.RawStdEncoding.DecodeString(trimPadding(detail.Value))
		if err == nil {
			result.Reason, result.Metadata = errorInfo(value)
		}
	}
	return result
}

func trimPadding(text string) string {
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
	}
	return text
}

// codeOfStatus is the table of Connect's protocol for answers that are not its own.
func codeOfStatus(status int) Code {
	switch status {
	case http.StatusBadRequest:
		return CodeInternal
	case http.StatusUnauthorized:
		return CodeUnauthenticated
	case http.StatusForbidden:
		return CodePermissionDenied
	case http.StatusNotFound:
		return CodeUnimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return CodeUnavailable
	}
	return CodeUnknown
}

// retryAfter reads seconds, or a date as load balancers send it; 0 if the header is absent, is
// unreadable, or names no later time.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now()
	// By the clock of the sender, which may differ.
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	if wait := at.Sub(now); wait > 0 {
		return wait
	}
	return 0
}

// errorInfo decodes svc.options.v1.ErrorInfo {string reason = 1; map<string, string> metadata = 2}:
// too little to bring a library along for. What is cut off ends the reading.
func errorInfo(message []byte) (reason string, metadata map[string]string) {
	metadata = map[string]string{}
	eachField(message, func(number uint64, value []byte) {
		switch number {
		case 1:
			reason = string(value)
		case 2:
			var key, text string
			eachField(value, func(number uint64, value []byte) {
				switch number {
				case 1:
					key = string(value)
				case 2:
					text = string(value)
				}
			})
			metadata[key] = text
		}
	})
	return reason, metadata
}

// eachField calls take for the length-delimited fields of a protobuf message, and stops at any other.
func eachField(message []byte, take func(number uint64, value []byte)) {
	const lengthDelimited = 2
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag&7 != lengthDelimited {
			return
		}
		length, m := binary.Uvarint(message[n:])
		if m <= 0 || length > uint64(len(message)-n-m) {
			return
		}
		start := n + m
		take(tag>>3, message[start:start+int(length)])
		message = message[start+int(length):]
	}
}
