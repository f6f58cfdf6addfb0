package svc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// The vectors that other languages' tests read too; webhook.py beside them says how they came about.
const vectorsPath = "../../test/vectors/webhook.json"

type vectorBody struct {
	Text     string
	Base64   string
	Repeated string
	Times    int
}

func (b vectorBody) bytes(t *testing.T) []byte {
	t.Helper()
	if b.Base64 != "" {
		decoded, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	if b.Repeated != "" {
		return []byte(strings.Repeat(b.Repeated, b.Times))
	}
	return []byte(b.Text)
}

type vectors struct {
	Sent []struct {
		DeliveryID, AttemptID, Body string
		TimestampUnix               int64
		Secrets                     []string
		Headers                     map[string]string
	}
	Received []struct {
		Name     string
		NowUnix  int64
		Secrets  []string
		Headers  [][2]string
		Body     vectorBody
		Error    WebhookReason
		Verified struct {
			DeliveryID, AttemptID string
			TimestampUnix         int64
			SecretIndex           int
		}
	}
}

func readVectors(t *testing.T) (read vectors) {
	t.Helper()
	text, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Sent) == 0 || len(read.Received) < 50 {
		t.Fatal("the vectors are not there")
	}
	return read
}

func at(unix int64) WebhookOption {
	return WithNow(func() time.Time { return time.Unix(unix, 999_999_999) })
}

func TestEveryVectorIsVerifiedOrRefusedForItsReason(t *testing.T) {
	for _, vector := range readVectors(t).Received {
		t.Run(vector.Name, func(t *testing.T) {
			header := http.Header{}
			for _, pair := range vector.Headers {
				header[pair[0]] = append(header[pair[0]], pair[1])
			}
			body := vector.Body.bytes(t)
			request := &http.Request{Header: header, Body: io.NopCloser(bytes.NewReader(body))}
			verified, err := VerifyWebhook(request, vector.Secrets, at(vector.NowUnix))
			if vector.Error != "" {
				var refused *WebhookError
				if !errors.As(err, &refused) || refused.Reason != vector.Error {
					t.Fatalf("refused for %v, not %s", err, vector.Error)
				}
				for _, secret := range vector.Secrets {
					if strings.Contains(err.Error(), strings.TrimPrefix(secret, "whsec_")) {
						t.Fatal("the error tells a secret")
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := vector.Verified
			if verified.DeliveryID != want.DeliveryID || verified.AttemptID != want.AttemptID ||
				verified.Time.Unix() != want.TimestampUnix || verified.SecretIndex != want.SecretIndex ||
				!bytes.Equal(verified.Body, body) {
				t.Fatalf("verified as %+v", verified)
			}
		})
	}
}

func TestHeadersOfTheNetHTTPFormAreFound(t *testing.T) {
	for _, sent := range readVectors(t).Sent {
		header := http.Header{}
		for name, value := range sent.Headers {
			header.Set(name, value)
		}
		for place, secret := range sent.Secrets {
			verified, err := VerifyWebhookBody([]byte(sent.Body), header, []string{secret}, at(sent.TimestampUnix))
			if err != nil || verified.AttemptID != sent.AttemptID {
				t.Fatalf("secret %d: %+v, %v", place, verified, err)
			}
		}
	}
}

// endless gives bytes for ever, and counts them.
type endless struct{ read int }

func (e *endless) Read(into []byte) (int, error) {
	e.read += len(into)
	return len(into), nil
}

func (e *endless) Close() error { return nil }

func TestOfARequestWithoutEndNoMoreIsReadThanABodyMayHave(t *testing.T) {
	sent := readVectors(t).Sent[0]
	body := &endless{}
	request := &http.Request{Header: http.Header{}, Body: body}
	_, err := VerifyWebhook(request, sent.Secrets)
	var refused *WebhookError
	if !errors.As(err, &refused) || refused.Reason != WebhookBodyTooLarge {
		t.Fatal(err)
	}
	if body.read != WebhookBodyBytesMax+1 {
		t.Fatalf("%d bytes were read", body.read)
	}
}

func TestABodyThatBreaksOffIsNotVerified(t *testing.T) {
	sent := readVectors(t).Sent[0]
	broken := io.MultiReader(strings.NewReader(sent.Body), brokenReader{})
	request := &http.Request{Header: http.Header{}, Body: io.NopCloser(broken)}
	_, err := VerifyWebhook(request, sent.Secrets)
	var refused *WebhookError
	if !errors.As(err, &refused) || refused.Reason != WebhookBodyUnread {
		t.Fatal(err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
