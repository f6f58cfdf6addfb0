"""Computes webhook.json, the vectors that the senders' and both receivers' tests share.

In another language and from the description of the signatures alone, so that it agrees with the
program only where both are right. Standard library only:

    python3 webhook.py > webhook.json && npm exec -- biome format --write webhook.json
"""

import base64
import hashlib
import hmac
import json

KEY = bytes(range(32))
PREVIOUS_KEY = bytes([7] * 32)
DELIVERY = "dlv_01K0000000000000000000000A"
ATTEMPT = "att_01K0000000000000000000000B"
TIME = 1767225600
BODY = '{"type":"incident.firing","data":{"vm":"vm_1","value":93.5}}'
# 1 MiB, the most that a receiver takes; and not valid UTF-8.
FULL = {"repeated": "a", "times": 1024 * 1024}
OVER = {"repeated": "a", "times": 1024 * 1024 + 1}
BINARY = bytes([0, 255, 10, 13, 128])


def secret(key):
    return "whsec_" + base64.b64encode(key).decode()


def content(body):
    if "text" in body:
        return body["text"].encode()
    if "base64" in body:
        return base64.b64decode(body["base64"])
    return body["repeated"].encode() * body["times"]


def standard(key, body, delivery=DELIVERY, time=TIME):
    signed = f"{delivery}.{time}.".encode() + content(body)
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def v2(key, body, delivery=DELIVERY, attempt=ATTEMPT, time=TIME):
    signed = f"v2.{delivery}.{attempt}.{time}.".encode() + content(body)
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def legacy(key, body):
    return hmac.new(secret(key).encode(), content(body), hashlib.sha256).hexdigest()


TEXT = {"text": BODY}
SIGNATURE = v2(KEY, TEXT)


def line(*values, delivery=DELIVERY, attempt=ATTEMPT, time=TIME):
    return ",".join([f"t={time}", f"id={delivery}", f"att={attempt}", *[f"v2={v}" for v in values]])


def headers(signature, delivery=DELIVERY, attempt=ATTEMPT):
    return [
        ["svc-delivery-id", delivery],
        ["svc-attempt-id", attempt],
        ["svc-signature-v2", signature],
    ]


def case(name, expected, given=None, body=None, now=TIME, secrets=(KEY,)):
    return {
        "name": name,
        "nowUnix": now,
        "secrets": [s if isinstance(s, str) else secret(s) for s in secrets],
        "headers": headers(line(SIGNATURE)) if given is None else given,
        "body": TEXT if body is None else body,
        **({"error": expected} if isinstance(expected, str) else {"verified": expected}),
    }


def verified(place=0, attempt=ATTEMPT):
    return {
        "deliveryId": DELIVERY,
        "attemptId": attempt,
        "timestampUnix": TIME,
        "secretIndex": place,
    }


def malformed(name, signature):
    return case(name, "SIGNATURE_MALFORMED", headers(signature))


AGAIN = "att_01K0000000000000000000000C"
BOTH = line(SIGNATURE, v2(PREVIOUS_KEY, TEXT))
OLD_ONLY = line(v2(PREVIOUS_KEY, TEXT))
CASES = [
    case("the published vector", verified()),
    case("a second attempt of the delivery has another attempt id", verified(attempt=AGAIN),
         headers(line(v2(KEY, TEXT, attempt=AGAIN), attempt=AGAIN), attempt=AGAIN)),
    case("header names in upper case", verified(),
         [[name.upper(), value] for name, value in headers(line(SIGNATURE))]),
    case("without the two id headers, which the signature repeats", verified(),
         [["svc-signature-v2", line(SIGNATURE)]]),
    case("overlap: the receiver has the current secret", verified(), headers(BOTH)),
    case("overlap: the receiver has the previous secret", verified(), headers(BOTH),
         secrets=(PREVIOUS_KEY,)),
    case("overlap: the receiver has both", verified(), headers(BOTH), secrets=(KEY, PREVIOUS_KEY)),
    case("the receiver has the new secret already, the sender signs with the old", verified(1),
         headers(OLD_ONLY), secrets=(KEY, PREVIOUS_KEY)),
    case("several signatures, the last of which fits", verified(),
         headers(line("0" * 64, "f" * 64, SIGNATURE))),
    case("fields of a later version are passed over", verified(),
         headers(line(SIGNATURE) + ",v3=abc")),
    case("fields in another order", verified(),
         headers(f"v2={SIGNATURE},att={ATTEMPT},id={DELIVERY},t={TIME}")),
    case("a body of exactly 1 MiB", verified(), headers(line(v2(KEY, FULL))), FULL),
    case("a body that is not text", verified(),
         headers(line(v2(KEY, {"base64": base64.b64encode(BINARY).decode()}))),
         {"base64": base64.b64encode(BINARY).decode()}),
    case("an empty body", verified(), headers(line(v2(KEY, {"text": ""}))), {"text": ""}),
    case("five minutes old to the second", verified(), now=TIME + 300),
    case("five minutes ahead to the second", verified(), now=TIME - 300),
    case("stale", "TIMESTAMP_TOO_OLD", now=TIME + 301),
    case("of the future", "TIMESTAMP_TOO_NEW", now=TIME - 301),
    case("stale and forged is told as forged", "SIGNATURE_MISMATCH", headers(line("0" * 64)),
         now=TIME + 301),
    case("a time that was not signed", "SIGNATURE_MISMATCH",
         headers(line(SIGNATURE, time=TIME + 200)), now=TIME + 200),
    case("a delivery id that was not signed", "SIGNATURE_MISMATCH",
         headers(line(SIGNATURE, delivery="dlv_X"), delivery="dlv_X")),
    case("an attempt id that was not signed", "SIGNATURE_MISMATCH",
         headers(line(SIGNATURE, attempt="att_X"), attempt="att_X")),
    case("the header names another delivery than the signature", "DELIVERY_ID_MISMATCH",
         headers(line(SIGNATURE), delivery="dlv_X")),
    case("the Standard Webhooks header names another delivery", "DELIVERY_ID_MISMATCH",
         [*headers(line(SIGNATURE)), ["webhook-id", "dlv_X"]]),
    case("the header names no delivery", "DELIVERY_ID_MISMATCH",
         headers(line(SIGNATURE), delivery="")),
    case("the header names another attempt than the signature", "ATTEMPT_ID_MISMATCH",
         headers(line(SIGNATURE), attempt="att_X")),
    case("an id with a dot, which would move a border of what is signed", "SIGNATURE_MALFORMED",
         headers(line(SIGNATURE, delivery=f"{DELIVERY}.att", attempt=ATTEMPT))),
    case("body changed", "SIGNATURE_MISMATCH", body={"text": BODY.replace("93.5", "13.5")}),
    case("body truncated", "SIGNATURE_MISMATCH", body={"text": BODY[:-1]}),
    case("body with a line end more", "SIGNATURE_MISMATCH", body={"text": BODY + "\n"}),
    case("body over 1 MiB, rightly signed", "BODY_TOO_LARGE", headers(line(v2(KEY, OVER))), OVER),
    case("another secret", "SIGNATURE_MISMATCH", secrets=(PREVIOUS_KEY,)),
    case("no signature", "SIGNATURE_MISSING", []),
    case("an empty signature", "SIGNATURE_MISSING", headers("")),
    case("the legacy signature alone", "SIGNATURE_MISSING",
         [*headers("")[:2], ["svc-signature", f"sha256={legacy(KEY, TEXT)}"]]),
    case("the legacy signature in the place of V2", "SIGNATURE_MISMATCH",
         headers(line(legacy(KEY, TEXT)))),
    case("the Standard Webhooks signature alone", "SIGNATURE_MISSING",
         [["webhook-id", DELIVERY], ["webhook-timestamp", str(TIME)],
          ["webhook-signature", f"v1,{standard(KEY, TEXT)}"]]),
    case("the Standard Webhooks content in the place of V2", "SIGNATURE_MISMATCH",
         headers(line(base64.b64decode(standard(KEY, TEXT)).hex()))),
    malformed("signature cut short", line(SIGNATURE[:-1])),
    malformed("signature in upper case", line(SIGNATURE.upper())),
    malformed("signature in base64", line(base64.b64encode(bytes.fromhex(SIGNATURE)).decode())),
    malformed("without a signature among its fields", line()),
    malformed("without the time", line(SIGNATURE).split(",", 1)[1]),
    malformed("without the delivery id", line(SIGNATURE).replace(f"id={DELIVERY},", "")),
    malformed("without the attempt id", line(SIGNATURE).replace(f"att={ATTEMPT},", "")),
    malformed("two times", f"t={TIME}," + line(SIGNATURE)),
    malformed("two delivery ids", f"id={DELIVERY}," + line(SIGNATURE)),
    malformed("a time that is no number", line(SIGNATURE, time="now")),
    malformed("a time with a fraction", line(SIGNATURE, time=f"{TIME}.0")),
    malformed("a negative time", line(SIGNATURE, time=f"-{TIME}")),
    malformed("a time with a leading zero", line(SIGNATURE, time=f"0{TIME}")),
    malformed("a time of more digits than a number holds", line(SIGNATURE, time="9" * 20)),
    malformed("spaces between the fields", line(SIGNATURE).replace(",", ", ")),
    malformed("an empty field", line(SIGNATURE) + ","),
    malformed("a line end in the header", line(SIGNATURE) + "\n"),
    malformed("a line end in an id", line(SIGNATURE).replace(",att", "\n,att")),
    malformed("words", "let me in"),
    malformed("nine signatures", line(*[SIGNATURE] * 9)),
    case("the header twice", "SIGNATURE_MALFORMED",
         [*headers(line(SIGNATURE)), ["svc-signature-v2", line(SIGNATURE)]]),
    case("no secret", "SECRET_MALFORMED", secrets=()),
    case("a secret without its prefix", "SECRET_MALFORMED",
         secrets=(base64.b64encode(KEY).decode(),)),
    case("a secret cut short", "SECRET_MALFORMED", secrets=(secret(KEY)[:-4],)),
    case("a good secret beside one that is none", "SECRET_MALFORMED", secrets=(KEY, "whsec_x")),
]

SENT = {
    "deliveryId": DELIVERY,
    "attemptId": ATTEMPT,
    "timestampUnix": TIME,
    "body": BODY,
    "secrets": [secret(KEY)],
    "headers": {
        "webhook-id": DELIVERY,
        "webhook-timestamp": str(TIME),
        "webhook-signature": f"v1,{standard(KEY, TEXT)}",
        "svc-delivery-id": DELIVERY,
        "svc-attempt-id": ATTEMPT,
        "svc-signature-v2": line(SIGNATURE),
        "svc-signature": f"sha256={legacy(KEY, TEXT)}",
    },
}
OVERLAP = {
    **SENT,
    "secrets": [secret(KEY), secret(PREVIOUS_KEY)],
    "headers": {
        **SENT["headers"],
        "webhook-signature": f"v1,{standard(KEY, TEXT)} v1,{standard(PREVIOUS_KEY, TEXT)}",
        "svc-signature-v2": BOTH,
        "svc-signature": f"sha256={legacy(PREVIOUS_KEY, TEXT)}",
    },
}

# What somebody wrote down by hand when the scheme was decided.
assert SIGNATURE == "2ebfe462cd5ac9bdad3038ef74ee6b9daaf45a646f3601ef255a668f2a6c1d5a"
assert standard(KEY, TEXT) == "WG+0Udb6zkIo8eWAz6hUSiwOH+zdSsvLBJd169X+sx4="
assert legacy(KEY, TEXT) == "bf668765a8223992905c65fc520f5f57b2a8d7a6eca39dc95778a7b3a6374d74"

if __name__ == "__main__":
    print(json.dumps({"sent": [SENT, OVERLAP], "received": CASES}, indent=2))
