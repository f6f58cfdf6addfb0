package svc

import (
	"context"
	"errors"
	"math/rand"
	"net"
	"net/http"
	"syscall"
	"time"
)

// retryWait tells whether a request goes out again, and after how long. Again is always the same
// request: a change whose answer is lost may have been made, and only under the same request id is it
// not made twice. What carries none is repeated only where the service itself said that it did nothing.
func retryWait(e exchange, got answer, err error, tries int) (time.Duration, bool) {
	backOff := backOffMax
	// 0.5 s, 1 s, 2 s and so on: the seventh would be above the cap.
	if tries < 7 {
		backOff = time.Duration(1<<(tries-1)) * 500 * time.Millisecond
	}
	// Up to a fifth more, so that many clients do not come back at once.
	backOff += time.Duration(rand.Int63n(int64(backOff / 5)))
	if err != nil {
		isOver := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		return backOff, !isOver && (e.mayRepeat || isUnreached(err))
	}
	status := got.response.StatusCode
	if status == http.StatusOK {
		return 0, false
	}
	refused := errorOf(got.response, got.body)
	isBusy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if !isBusy && refused.Reason != "IN_PROGRESS" {
		return 0, false
	}
	if !e.mayRepeat && refused.Reason == "" {
		return 0, false
	}
	// Without a wait that can be read, all clients would use up their tries at once.
	if refused.RetryAfter == 0 {
		return backOff, true
	}
	return refused.RetryAfter, refused.RetryAfter <= retryAfterMax
}

// isUnreached tells that the request left this machine for nobody: nothing can have been done.
func isUnreached(err error) bool {
	var lookup *net.DNSError
	return errors.As(err, &lookup) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// pause waits, or ends with the context's error. It does not begin a wait that the context's deadline
// would cut: what is known is then told at once.
func pause(ctx context.Context, wait time.Duration) error {
	if deadline, has := ctx.Deadline(); has && time.Until(deadline) < wait {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
