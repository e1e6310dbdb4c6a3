/** The connection of a call that another one makes: its reply stays in the process. */
import { Option, Schema } from "effect"
import type { Connection, WholeReply } from "../../calls/connection.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import { ErrorEnvelope } from "../../protocol/error.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { ToolReply } from "./tool-request.ts"

const readKept = Schema.decodeUnknownOption(Schema.fromJsonString(ToolReply))
const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

/** The message of a server, or the gateway's own error. */
export type Captured =
  | { readonly t: "message"; readonly text: string }
  | { readonly t: "error"; readonly code: string; readonly message: string }

const unreadable: Captured = { t: "error", code: "internal_error", message: "The call has no result" }

const capturedOf = ({ status, body }: WholeReply<ToolReply>): Captured => {
  if (typeof body !== "string") return { t: "message", text: body.message }
  const kept = status === 200 ? Option.getOrUndefined(readKept(body)) : undefined
  if (kept !== undefined) return { t: "message", text: kept.message }
  const error = Option.getOrUndefined(readEnvelope(body))?.error
  return error === undefined ? unreadable : { t: "error", code: error.code, message: error.message }
}

/** Replies of tools are sent whole. */
const noEvents: EventEncoder = {
  heartbeat: "",
  open: () => "",
  delta: () => "",
  warn: () => "",
  usage: () => "",
  close: () => "",
  error: () => "",
}

export class CapturedReply implements Connection<ToolReply> {
  readonly events = noEvents
  captured: Captured = unreadable

  send(reply: WholeReply<ToolReply>): void {
    this.captured = capturedOf(reply)
  }

  refuse(error: Parameters<Connection<ToolReply>["refuse"]>[0]): void {
    const { code, message } = toServiceError(error)
    this.captured = { t: "error", code, message }
  }

  write(): boolean {
    return true
  }

  end(flushed: () => void): void {
    flushed()
  }

  cut(): void {
    this.captured = unreadable
  }

  unsentBytes(): number {
    return 0
  }

  takenBytes(): number {
    return 0
  }

  listen(): void {}
}
