/**
 * A token that is fetched once for all who use it, and renewed in the background before it runs out: nobody waits for a
 * token while there is a valid one.
 */
export interface IssuedToken {
  readonly token: string
  readonly expiresAtMs: number
}

/** The share of its life after which a token is renewed; up to a tenth of it earlier, so that nodes differ. */
const renewAfter = 0.8
const jitter = 0.1
/** A token is not used so shortly before its end. */
const marginMs = 5_000
/** The pause after a renewal that failed, while the old token serves. */
const retryMs = 5_000

export class RenewedToken {
  readonly #nowMs: () => number
  #current: IssuedToken | undefined
  #renewAtMs = 0
  #fetching: Promise<IssuedToken> | undefined

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** @param fetch asks the issuer; it has a deadline of its own */
  async get(fetch: () => Promise<IssuedToken>): Promise<string> {
    const nowMs = this.#nowMs()
    const current = this.#current
    if (current === undefined || nowMs >= current.expiresAtMs - marginMs) return (await this.#renew(fetch)).token
    if (nowMs >= this.#renewAtMs) {
      this.#renewAtMs = nowMs + retryMs
      // The old token serves to its end.
      this.#renew(fetch).catch(() => {})
    }
    return current.token
  }

  #renew(fetch: () => Promise<IssuedToken>): Promise<IssuedToken> {
    this.#fetching ??= fetch()
      .then((issued) => {
        const nowMs = this.#nowMs()
        this.#current = issued
        this.#renewAtMs = nowMs + (issued.expiresAtMs - nowMs) * (renewAfter - jitter * Math.random())
        return issued
      })
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }
}
