/** A stream of sound as bytes: only the sound, and its cost in trailers. */
import type { EventEncoder } from "../dialects/client/client-api.ts"
import type { Usage } from "../protocol/usage.ts"

export class SoundStream implements EventEncoder {
  contentType = "application/octet-stream"
  readonly heartbeat = ""
  readonly trailers = {
    names: "x-svc-cost, x-svc-currency, x-svc-balance",
    values: () => this.#trailers,
  }
  #trailers: Readonly<Record<string, string>> = {}

  open(): string {
    return ""
  }

  delta(): string {
    return ""
  }

  sound(bytes: Uint8Array, mime: string): Uint8Array {
    this.contentType = mime
    return bytes
  }

  warn(): string {
    return ""
  }

  usage({ cost, currency, balance }: Usage): string {
    this.#trailers = { "x-svc-cost": cost, "x-svc-currency": currency, "x-svc-balance": balance }
    return ""
  }

  close(): string {
    return ""
  }

  error(): string {
    return ""
  }
}
