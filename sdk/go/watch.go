package svc

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Envelopes of Connect's streams: a byte of flags, the length in four bytes, the message.
const (
	envelopeHead       = 5
	envelopeCompressed = 1
	envelopeEnd        = 2
)

// errStreamCut tells that a stream ended without saying so.
var errStreamCut = errors.New("the stream was cut off")

// watch calls take with each message of a server's stream until take answers an error, the context
// ends, or the stream does. It has no time of its own and is not begun again: what was missed
// meanwhile is for the caller to know.
func watch[Message any](ctx context.Context, c *Client, m method, request any, take func(*Message) error) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("svc: %s: %w", m.name, err)
	}
	response, err := c.openStream(ctx, m, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for {
		flags, content, err := readEnvelope(response.Body)
		if err != nil {
			return &NoAnswerError{Method: m.name, Err: err}
		}
		if flags&envelopeEnd != 0 {
			return endOfStream(response, content)
		}
		message := new(Message)
		if err := json.Unmarshal(content, message); err != nil {
			return fmt.Errorf("svc: %s: the answer is not the service's: %w", m.name, err)
		}
		if err := take(message); err != nil {
			return err
		}
	}
}

func (c *Client) openStream(ctx context.Context, m method, body []byte) (*http.Response, error) {
	framed := make([]byte, envelopeHead, envelopeHead+len(body))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(body)))
	framed = append(framed, body...)
	address := c.origin + "/" + m.service + "/" + m.name
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(framed))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/connect+json")
	request.Header.Set("Connect-Protocol-Version", "1")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(schemaVersionHeader, schemaVersion)
	if err := c.authorise(ctx, request, m.isAnonymous); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &NoAnswerError{Method: m.name, Err: err}
	}
	c.noteCookies(response)
	isStream := strings.HasPrefix(response.Header.Get("Content-Type"), "application/connect+json")
	if response.StatusCode == http.StatusOK && isStream {
		return response, nil
	}
	defer response.Body.Close()
	told, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return nil, &NoAnswerError{Method: m.name, Err: err}
	}
	return nil, errorOf(response, told)
}

func readEnvelope(from io.Reader) (flags byte, content []byte, err error) {
	var head [envelopeHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, cutOff(err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	// None was asked for.
	if head[0]&envelopeCompressed != 0 || length > answerBytesMax {
		return 0, nil, errors.New("a message is not one of the service's")
	}
	content = make([]byte, length)
	if _, err := io.ReadFull(from, content); err != nil {
		return 0, nil, cutOff(err)
	}
	return head[0], content, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errStreamCut
	}
	return err
}

// endOfStream reads the last envelope: why the service ended the stream, nil when it is simply over.
func endOfStream(response *http.Response, content []byte) error {
	var end struct{ Error json.RawMessage }
	if err := json.Unmarshal(content, &end); err != nil {
		return fmt.Errorf("svc: the end of the stream is not the service's: %w", err)
	}
	if len(end.Error) == 0 {
		return nil
	}
	return errorOf(response, end.Error)
}
