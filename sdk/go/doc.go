// Package svc is a client of the monitoring and automation service, and the check that receivers of
// its webhooks make. It needs the standard library alone.
//
// A Client calls the API as one caller: with a key or an access token, or, where only people may act,
// with the session of somebody who has signed in. Every call takes a context. Errors are *Error (what
// the service refused, with its reason), *QueryError (the PromQL URL) or *NoAnswerError (no answer
// came: whether a change was made is not known).
//
// An absent reading is never a zero: what may not have been observed is a pointer, nil when it was
// not, and a point that was not observed is not in its list.
package svc
