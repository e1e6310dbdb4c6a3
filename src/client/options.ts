/** The options of a client, and of one call. */
import type { Credentials } from "./credentials.ts"
import { WeirMisused } from "./errors.ts"
import type { MakeSocket } from "./socket-like.ts"

export interface RetryOptions {
  /**
   * Retries of a call that the gateway refused for now; 4 if absent, 0 for no retries at all. A call that failed by its
   * `ttfb` or `total` timeout is retried once at most.
   */
  readonly times?: number
  /** The time for which an unreachable gateway is tried again; 30,000 if absent. */
  readonly unreachableMs?: number
  /** The first pause in milliseconds, which doubles; 250 if absent. */
  readonly firstMs?: number
  /** The longest pause, also if the gateway asks for more: then the call fails; 10,000 if absent. */
  readonly longestMs?: number
  /** The time to wait for the first call with the same `meta.requestId`; 600,000 if absent. */
  readonly inProgressMs?: number
}

export interface WeirOptions {
  /** e.g. `https://weir.example.com` */
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly retry?: RetryOptions
  /** Sent with every exchange, for the operator's statistics. */
  readonly client?: { readonly name: string; readonly version: string }
  /** Client features beyond the baseline, e.g. `platform-audio`. */
  readonly features?: ReadonlyArray<string>
  /** The time that a stream may be silent, heartbeat comments included, before it fails; 60,000 if absent. */
  readonly silenceMs?: number
  /** Replaces the runtime's `fetch`. */
  readonly fetch?: typeof fetch
  /** Replaces the runtime's `WebSocket`. */
  readonly webSocket?: MakeSocket
}

export interface CallOptions {
  /** Aborting ends the call at the gateway and at the vendor; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Throws for a base URL that cannot be one. */
export const checkBaseUrl = (baseUrl: string): void => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  // The password is not repeated: messages end in logs.
  if (url !== undefined && (url.username !== "" || url.password !== ""))
    throw new WeirMisused(
      "base_url_invalid",
      "baseUrl has a user or a password, which belong into the option credentials",
    )
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") return
  const example = "https://weir.example.com"
  throw new WeirMisused("base_url_invalid", `baseUrl is not a URL such as ${example}: ${JSON.stringify(baseUrl)}`)
}

/** A base URL in its canonical form, to which a path is appended. */
export const rootOf = (baseUrl: string): string => {
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}${pathname.replace(/\/+$/, "")}`
}
