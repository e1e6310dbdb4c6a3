/** The reason why a server of tools did not answer, as a sentence for operators. Pure. */
import type { ServerFailed } from "./ask-server.ts"

export const problemOf = ({ reason, status, cause }: ServerFailed): string => {
  const cut = messageOf(cause).slice(0, 300)
  const because = cut === "" ? "" : `: ${cut}`
  switch (reason) {
    case "slow":
      return "It does not answer in time"
    case "unreachable":
      return `It cannot be reached${because}`
    case "account":
      return `No account is connected${because}`
    case "malformed":
      return "Its answer is no message of the protocol"
    case "refused":
      return status === 401 || status === 403
        ? `It refuses the credential (status ${status})${because}`
        : `It refuses with status ${status}${because}`
  }
}

/** The innermost message of a chain of causes. */
const messageOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return ""
  const inner = messageOf(cause.cause)
  return inner === "" ? cause.message : inner
}
