/**
 * A session that maintains itself: it sends heartbeats, fetches the configuration when its own is stale, and opens a
 * new session when it was archived. After `close`, every method rejects.
 */
import type { Bundle } from "../protocol/control/bundle.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import type { Ask, Calls } from "./calls.ts"
import { isWeirError, type WeirError, WeirMisused } from "./errors.ts"
import type { StreamedEvent } from "./exchange-stream.ts"
import type { CallOptions } from "./options.ts"
import { abortable, longestTimerMs } from "./pause.ts"
import type { Reply } from "./reply.ts"

export interface SessionOptions {
  /**
   * Milliseconds between heartbeats; 60,000 if absent. Keep it well below the plan's window (see the handshake's
   * limits).
   */
  readonly heartbeatMs?: number
  /** Called with the configuration: first when the session opens, then after each change. */
  readonly onConfig?: (config: Bundle) => void
  /** Called when a heartbeat fails; the next one is sent regardless. */
  readonly onTrouble?: (error: WeirError) => void
}

/** The time that ending the session may take, and before it the time for an opening under way. */
const endingMs = 2000

/** Opens a session at its first use. */
export class Session {
  private readonly calls: Calls
  private readonly options: SessionOptions
  private opening: Promise<string> | undefined
  private openId: string | undefined
  private known: Bundle | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private closing: Promise<void> | undefined
  /** Ends heartbeats under way. */
  private readonly leave = new AbortController()

  constructor(calls: Calls, options: SessionOptions = {}) {
    this.calls = calls
    this.options = options
    this.beatLater()
  }

  /** The session's id, once it is open. */
  async id(more?: CallOptions): Promise<string> {
    this.checkOpen()
    more?.signal?.throwIfAborted()
    this.opening ??= this.open()
    return abortable(this.opening, more?.signal)
  }

  /** The latest known configuration. */
  async config(): Promise<Bundle | undefined> {
    this.checkOpen()
    return this.known
  }

  async exchange(ask: Ask, more?: CallOptions): Promise<Reply> {
    const sessionId = await this.id(more)
    try {
      return await this.calls.exchange(within(ask, sessionId), more)
    } catch (error) {
      if (!isOver(error)) throw error
      this.forget(sessionId)
      return this.calls.exchange(within(ask, await this.id(more)), more)
    }
  }

  async *stream(ask: Ask, more?: CallOptions): AsyncGenerator<StreamedEvent, void, undefined> {
    const sessionId = await this.id(more)
    let isFresh = true
    try {
      for await (const event of this.calls.stream(within(ask, sessionId), more)) {
        isFresh = false
        yield event
      }
    } catch (error) {
      // A caller that has a part of a reply must not receive its beginning again.
      if (!isOver(error) || !isFresh) throw error
      this.forget(sessionId)
      yield* this.calls.stream(within(ask, await this.id(more)), more)
    }
  }

  /** Stops the heartbeats and ends the session at the gateway; a second call waits for the first. */
  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer)
    const giveUp = setTimeout(() => this.leave.abort(closed()), endingMs)
    const id = await this.opening?.catch(() => undefined)
    clearTimeout(giveUp)
    this.leave.abort(closed())
    // Where this fails, the gateway archives the session by itself.
    if (id !== undefined) await this.calls.endSession(id, { signal: AbortSignal.timeout(endingMs) }).catch(() => {})
  }

  private checkOpen(): void {
    if (this.closing !== undefined) throw closed()
  }

  private async open(): Promise<string> {
    // The client creates the id, so that a heartbeat without a reply can be repeated.
    const id = newUlid(Date.now())
    try {
      await this.beat(id)
      this.openId = id
      return id
    } catch (error) {
      this.opening = undefined
      throw error
    }
  }

  private async beat(sessionId: string): Promise<void> {
    const configVersion = this.known === undefined ? {} : { configVersion: this.known.configVersion }
    const { signal } = this.leave
    const reply = await this.calls.heartbeat({ sessionId, ...configVersion }, { signal })
    if (this.known !== undefined && !reply.configStale) return
    const fetched = await this.calls.config(this.known?.configVersion, { signal })
    if (fetched === undefined) return
    this.known = fetched
    notify(() => this.options.onConfig?.(fetched))
  }

  private beatLater(): void {
    const { heartbeatMs = 60_000 } = this.options
    this.timer = setTimeout(() => void this.keepAlive(), Math.min(heartbeatMs, longestTimerMs))
  }

  private async keepAlive(): Promise<void> {
    const id = this.openId
    if (id !== undefined)
      await this.beat(id).catch((error: unknown) => {
        if (isOver(error)) this.forget(id)
        if (isWeirError(error)) notify(() => this.options.onTrouble?.(error))
      })
    if (this.closing === undefined) this.beatLater()
  }

  /** The session has ended: the next call opens another one. */
  private forget(dead: string): void {
    if (this.openId !== dead) return
    this.openId = undefined
    this.opening = undefined
  }
}

const closed = () => new WeirMisused("session_closed", "The session is closed")

const within = (ask: Ask, sessionId: string): Ask => ({ ...ask, meta: { ...ask.meta, sessionId } })

/** A listener that throws does not end the heartbeats. */
const notify = (listener: () => void): void => {
  try {
    listener()
  } catch (error) {
    console.error("A listener of a session threw", error)
  }
}

const isOver = (error: unknown): boolean =>
  isWeirError(error) && error._tag === "WeirRefused" && error.code === "session_archived"
