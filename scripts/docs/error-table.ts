/** The page of all error codes: status, cause, remedy, and whether clients repeat the call. */
import { adviceFor } from "../../src/client/advice.ts"
import { errorCodes, errorStatus } from "../../src/protocol/error.ts"
import { errorCauses } from "../../src/protocol/error-causes.ts"

const repeats: Readonly<Record<string, string>> = {
  retry: "repeat it soon",
  wait: "wait",
  log_in: "log in",
  pay: "pay",
  ask_permission: "ask for permission",
  new_session: "open a session",
  fix_request: "correct it",
  contact_operator: "ask the operator",
}

export const errorsPage = (): string => {
  const used = errorCodes.flatMap((code) => {
    const known = errorCauses[code]
    return known === undefined ? [] : [{ code, ...known }]
  })
  const others = errorCodes.filter((code) => errorCauses[code] === undefined)
  return [
    "# Errors",
    "",
    'Every error is `{"error": {"code", "message", "requestId", "detail"?}}`; in a stream it is the data of `t.err`. Each code has one',
    "status. Decide by the code: messages may change. The request id is also in the header `x-svc-request-id`, and in the gateway's log.",
    "The advice is that of the [typed client](../how-to/typed-client.md).",
    "",
    "| code | status | cause | remedy | advice |",
    "| --- | --- | --- | --- | --- |",
    ...used.map(
      ({ code, cause, remedy }) =>
        `| \`${code}\` | ${errorStatus[code]} | ${cause} | ${remedy} | ${repeats[adviceFor(code)] ?? ""} |`,
    ),
    "",
    "## Codes that this version does not use",
    "",
    "They belong to the protocol, so that clients can be prepared for them:",
    `${others.map((code) => `\`${code}\``).join(", ")}.`,
    "",
  ].join("\n")
}
