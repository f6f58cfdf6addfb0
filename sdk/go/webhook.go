package svc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// WebhookBodyBytesMax is the most that a body has (LIMIT-16).
	WebhookBodyBytesMax = 1 << 20
	// WebhookWindow is how far the signed time may lie from now, both ways.
	WebhookWindow = 5 * time.Minute
)

// WebhookReason tells why a request was refused.
type WebhookReason string

const (
	// WebhookBodyTooLarge: more than 1 MiB.
	WebhookBodyTooLarge WebhookReason = "BODY_TOO_LARGE"
	// WebhookBodyUnread: the body could not be read to its end.
	WebhookBodyUnread WebhookReason = "BODY_UNREAD"
	// WebhookSignatureMissing: no svc-signature-v2; a legacy signature alone is none.
	WebhookSignatureMissing WebhookReason = "SIGNATURE_MISSING"
	// WebhookSignatureMalformed: the header is not one of ours, or came twice.
	WebhookSignatureMalformed WebhookReason = "SIGNATURE_MALFORMED"
	// WebhookDeliveryIDMismatch: another delivery id in a header than was signed.
	WebhookDeliveryIDMismatch WebhookReason = "DELIVERY_ID_MISMATCH"
	// WebhookAttemptIDMismatch: another attempt id in a header than was signed.
	WebhookAttemptIDMismatch WebhookReason = "ATTEMPT_ID_MISMATCH"
	// WebhookSignatureMismatch: signed with none of the secrets, or changed on the way.
	WebhookSignatureMismatch WebhookReason = "SIGNATURE_MISMATCH"
	// WebhookTimestampTooOld: ours, and more than five minutes old: a replay, or the clock here is ahead.
	WebhookTimestampTooOld WebhookReason = "TIMESTAMP_TOO_OLD"
	// WebhookTimestampTooNew: ours, and more than five minutes ahead: the clock here is behind.
	WebhookTimestampTooNew WebhookReason = "TIMESTAMP_TOO_NEW"
	// WebhookSecretMalformed: a mistake of the receiver. A secret is whsec_ and the base64 of 32 bytes.
	WebhookSecretMalformed WebhookReason = "SECRET_MALFORMED"
)

// WebhookError is a request that is not to be acted on. It holds no secret and no byte of the body.
type WebhookError struct {
	Reason  WebhookReason
	Message string
}

// Error tells reason and message.
func (e *WebhookError) Error() string {
	return fmt.Sprintf("svc: webhook: %s: %s", e.Reason, e.Message)
}

// VerifiedWebhook is what the signature covers. Nothing else of a request is to be trusted: the
// svc-event header is for logs, and the body says the same in its type.
type VerifiedWebhook struct {
	// DeliveryID is the same in every attempt of one delivery. Remember it durably, for at least 24 h
	// 10 min: a request can come again, and verifying does not stop that inside the window.
	DeliveryID string
	// AttemptID is another one in every attempt.
	AttemptID string
	// Time of the attempt, in whole seconds.
	Time time.Time
	// SecretIndex is the place in secrets of the one that it is signed with.
	SecretIndex int
	// Body is the raw body, at most 1 MiB: JSON of a WebhookBody.
	Body []byte
}

// WebhookOption changes how a request is checked.
type WebhookOption func(*webhookCheck)

type webhookCheck struct{ now func() time.Time }

// WithNow checks against another clock than the system's.
func WithNow(now func() time.Time) WebhookOption {
	return func(check *webhookCheck) { check.now = now }
}

// VerifyWebhook reads the body of a request, at most 1 MiB and a byte of it, and checks that it is
// ours, new and whole: the timestamped V2 signature with one of the secrets, of which there are two
// during an overlap. The legacy signature is not looked at: it covers no time, so whoever has seen one
// request could send it for ever. The error is a *WebhookError with the reason.
func VerifyWebhook(request *http.Request, secrets []string, options ...WebhookOption) (*VerifiedWebhook, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(request.Body, WebhookBodyBytesMax+1)); err != nil {
			return nil, refused(WebhookBodyUnread, "the body ended before its end: %v", err)
		}
	}
	return VerifyWebhookBody(body, request.Header, secrets, options...)
}

// VerifyWebhookBody is VerifyWebhook for a body that was read already: the raw bytes, before any
// decoding.
func VerifyWebhookBody(body []byte, header http.Header, secrets []string, options ...WebhookOption) (*VerifiedWebhook, error) {
	check := webhookCheck{now: time.Now}
	for _, option := range options {
		option(&check)
	}
	keys, err := keysOf(secrets)
	if err != nil {
		return nil, err
	}
	if len(body) > WebhookBodyBytesMax {
		return nil, refused(WebhookBodyTooLarge, "the body has more than %d bytes", WebhookBodyBytesMax)
	}
	told, _ := joined(header, "svc-signature-v2")
	signed, err := parseSignature(told)
	if err != nil {
		return nil, err
	}
	if err := signed.refuseOtherIDs(header); err != nil {
		return nil, err
	}
	place := signed.keyOf(keys, body)
	if place < 0 {
		return nil, refused(WebhookSignatureMismatch,
			"the signature does not fit: another secret, or the body is not as it was sent")
	}
	// Only now: what a stranger made up is forged, however old it claims to be.
	if err := signed.refuseOtherTimes(check.now()); err != nil {
		return nil, err
	}
	return &VerifiedWebhook{
		DeliveryID:  signed.delivery,
		AttemptID:   signed.attempt,
		Time:        time.Unix(signed.unix, 0),
		SecretIndex: place,
		Body:        body,
	}, nil
}

type signature struct {
	delivery, attempt string
	unix              int64
	values            [][]byte
}

var (
	idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	// Without leading zeros, so that the number says exactly what was signed.
	timeForm      = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)
	signatureForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fieldForm     = regexp.MustCompile(`^([a-z][a-z0-9]*)=(.*)$`)
)

// Two sign during an overlap; more than this is a way to make receivers compute.
const signaturesMax = 8

func parseSignature(header string) (*signature, error) {
	if header == "" {
		return nil, refused(WebhookSignatureMissing, "there is no svc-signature-v2 header")
	}
	fields := map[string][]string{}
	for _, field := range strings.Split(header, ",") {
		parts := fieldForm.FindStringSubmatch(field)
		if parts == nil {
			return nil, malformed("a field is not name=value")
		}
		fields[parts[1]] = append(fields[parts[1]], parts[2])
	}
	for name, form := range map[string]*regexp.Regexp{"t": timeForm, "id": idForm, "att": idForm} {
		if len(fields[name]) != 1 {
			return nil, malformed(name + " is not there once")
		}
		if !form.MatchString(fields[name][0]) {
			return nil, malformed(name + " has another form")
		}
	}
	if count := len(fields["v2"]); count == 0 || count > signaturesMax {
		return nil, malformed(fmt.Sprintf("it has %d signatures, not 1 to %d", count, signaturesMax))
	}
	signed := &signature{delivery: fields["id"][0], attempt: fields["att"][0]}
	// Neither can fail after its form was seen.
	signed.unix, _ = strconv.ParseInt(fields["t"][0], 10, 64)
	for _, text := range fields["v2"] {
		if !signatureForm.MatchString(text) {
			return nil, malformed("v2 has another form")
		}
		value, _ := hex.DecodeString(text)
		signed.values = append(signed.values, value)
	}
	return signed, nil
}

// refuseOtherIDs: the headers beside the signature are for logs and libraries; they must tell the same.
func (s *signature) refuseOtherIDs(header http.Header) error {
	for _, name := range []string{"svc-delivery-id", "webhook-id"} {
		if told, has := joined(header, name); has && told != s.delivery {
			return refused(WebhookDeliveryIDMismatch, "%s is not the delivery that was signed", name)
		}
	}
	if told, has := joined(header, "svc-attempt-id"); has && told != s.attempt {
		return refused(WebhookAttemptIDMismatch, "svc-attempt-id is not the attempt that was signed")
	}
	return nil
}

// keyOf answers the place of the key that signed, or -1. Every signature is compared with every key,
// so that the time taken tells nothing of which one fits.
func (s *signature) keyOf(keys [][]byte, body []byte) int {
	place := -1
	for i := len(keys) - 1; i >= 0; i-- {
		mac := hmac.New(sha256.New, keys[i])
		fmt.Fprintf(mac, "v2.%s.%s.%d.", s.delivery, s.attempt, s.unix)
		mac.Write(body)
		expected := mac.Sum(nil)
		for _, value := range s.values {
			if hmac.Equal(value, expected) {
				place = i
			}
		}
	}
	return place
}

func (s *signature) refuseOtherTimes(now time.Time) error {
	age := now.Unix() - s.unix
	window := int64(WebhookWindow / time.Second)
	if age > window {
		return refused(WebhookTimestampTooOld, "it was signed %d s ago", age)
	}
	if age < -window {
		return refused(WebhookTimestampTooNew, "it was signed %d s ahead of the clock here", -age)
	}
	return nil
}

func keysOf(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, refused(WebhookSecretMalformed, "no secret was given")
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		encoded := strings.TrimPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) != 32 || encoded == secret || strings.ContainsAny(encoded, "\r\n") {
			return nil, refused(WebhookSecretMalformed,
				"a webhook secret is whsec_ and the base64 of 32 bytes: check that it was copied whole")
		}
		keys[i] = key
	}
	return keys, nil
}

// joined gives a header whatever the case of its name. One that came more than once is joined with a
// comma and a space, which no header of ours has.
func joined(header http.Header, name string) (value string, has bool) {
	var values []string
	for given, told := range header {
		if strings.EqualFold(given, name) {
			values = append(values, told...)
		}
	}
	return strings.Join(values, ", "), len(values) > 0
}

func malformed(problem string) error {
	return refused(WebhookSignatureMalformed, "svc-signature-v2 is malformed: %s", problem)
}

func refused(reason WebhookReason, format string, values ...any) error {
	return &WebhookError{Reason: reason, Message: fmt.Sprintf(format, values...)}
}
