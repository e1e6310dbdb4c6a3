/** Calls of twp/1 by a key: an exchange, event by event, and calls whose reply is whole. */
import { addressOf, errorOf } from "./api.ts"
import { eventsOf, type ServerEvent } from "./events.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly text: string
}

export interface StreamEvent extends ServerEvent {
  /** The time after the request was sent, in milliseconds. */
  readonly atMs: number
  /** The text that it adds to the answer. */
  readonly text: string
}

export interface Asked {
  /** `KEY_ID~SECRET`, or a token. */
  readonly key: string
  readonly model: string
  readonly thread: ReadonlyArray<Turn>
  readonly signal: AbortSignal
}

export const streamExchange = async (
  { key, model, thread, signal }: Asked,
  take: (event: StreamEvent) => void,
): Promise<void> => {
  const startedAt = performance.now()
  const blocks = (text: string) => [{ t: "text", v: text }]
  const response = await fetch(addressOf("t1/exchange"), {
    method: "POST",
    headers: { ...credentialOf(key), "content-type": "application/json" },
    body: JSON.stringify({
      model,
      stream: true,
      thread: thread.map(({ role, text }) => ({ role, blocks: blocks(text) })),
    }),
    signal,
    credentials: "omit",
  })
  if (!response.ok || response.body === null) throw await errorOf(response)
  for await (const { name, data } of eventsOf(response.body)) {
    take({ atMs: performance.now() - startedAt, name, data, text: addedBy(name, data) })
  }
}

/** The headers of a key, as `KEY_ID~SECRET`, or of a token. */
const credentialOf = (key: string): Record<string, string> => {
  const [keyId = "", ...secret] = key.split("~")
  return secret.length === 0
    ? { authorization: `Bearer ${key}` }
    : { "x-svc-key-id": keyId, "x-svc-key": secret.join("~") }
}

/** The common part of the replies of whole calls; each kind has its own part too. */
export interface WholeReply {
  readonly body: {
    readonly vectors?: ReadonlyArray<ReadonlyArray<number>>
    readonly results?: ReadonlyArray<{
      readonly index?: number
      readonly score?: number
      readonly flagged?: boolean
      readonly categories?: Readonly<Record<string, boolean>>
      readonly title?: string
      readonly url?: string
    }>
  }
  /** e.g. `0.005 USD` */
  readonly cost: string
}

/** A call whose reply is whole. @param route below `/t1` */
export const callWhole = async (key: string, route: string, request: object): Promise<WholeReply> => {
  const response = await fetch(addressOf(`t1/${route}`), {
    method: "POST",
    headers: { ...credentialOf(key), "content-type": "application/json" },
    body: JSON.stringify(request),
    credentials: "omit",
  })
  if (!response.ok) throw await errorOf(response)
  const cost = `${response.headers.get("x-svc-cost")} ${response.headers.get("x-svc-currency")}`
  return { body: await response.json(), cost }
}

/** The result of a media call, by its kind. */
export interface MediaReply {
  readonly images?: ReadonlyArray<{ readonly mime: string; readonly data: string }>
  readonly sound?: Blob
  readonly text?: string
  readonly job?: MediaJob
  readonly cost?: string
}

export interface MediaJob {
  readonly id: string
  readonly status: string
  readonly progress: number
}

/** A call about pictures, sound or videos. @param route below `/t1` */
export const callMedia = async (key: string, route: string, form: FormData): Promise<MediaReply> => {
  const isForm = route !== "speech"
  const response = await fetch(addressOf(`t1/${route}`), {
    method: "POST",
    headers: { ...credentialOf(key), ...(!isForm && { "content-type": "application/json" }) },
    body: isForm ? form : JSON.stringify({ ...Object.fromEntries(form), format: "wav" }),
    credentials: "omit",
  })
  if (!response.ok) throw await errorOf(response)
  // The cost of sound comes after it, where pages cannot read it.
  if (!isForm) return { sound: await response.blob() }
  const cost = `${response.headers.get("x-svc-cost")} ${response.headers.get("x-svc-currency")}`
  const body = await response.json()
  return route === "videos" ? { job: body, cost } : { ...body, cost }
}

export const askJob = async (key: string, id: string): Promise<MediaJob> => {
  const response = await fetch(addressOf(`t1/videos/${encodeURIComponent(id)}`), {
    headers: credentialOf(key),
    credentials: "omit",
  })
  if (!response.ok) throw await errorOf(response)
  return response.json()
}

const addedBy = (name: string, data: string): string => {
  if (name !== "t.delta") return ""
  const { t, v }: { readonly t?: string; readonly v?: string } = JSON.parse(data)
  return t === "text" ? (v ?? "") : ""
}
