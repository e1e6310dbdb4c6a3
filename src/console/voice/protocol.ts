/**
 * The API of a realtime session, as a browser speaks it: the address, the client's messages, and the meaning of the messages
 * that it receives. Sound is 16-bit samples in base64. Microphone, playback and page are the same for all.
 */
export interface VoiceProtocol {
  /** Samples of the microphone in a second. Answers have {@link playedRate}. */
  readonly microphoneRate: number
  readonly addressOf: (model: string, credential: string) => VoiceAddress
  /** The first message. Undefined: the session is ready when the socket is open. Else the gateway says so. */
  readonly setup: (model: string) => object | undefined
  readonly sound: (base64: string) => object
  /** Messages that say a text, and ask for an answer. */
  readonly text: (text: string) => ReadonlyArray<object>
  readonly read: (text: string) => VoiceMessage
}

/** Samples of the model's sound in a second, in both APIs. */
export const playedRate = 24_000

export interface VoiceAddress {
  /** Below the gateway's address. */
  readonly path: string
  /** Subprotocols of the socket. */
  readonly protocols?: Array<string>
}

/** A message that was received: its name, and its meaning. Most have one part. */
export interface VoiceMessage {
  readonly name: string
  /** The session takes sound and texts. */
  readonly isReady?: boolean
  /** A part of the model's text, or of the transcript of its sound. */
  readonly said?: string | undefined
  /** A part of the transcript of the speaker's sound. */
  readonly heard?: string | undefined
  /** Parts of the model's sound. */
  readonly sound?: ReadonlyArray<string>
  /** The speaker may have interrupted the model: the sound that is left is not played. */
  readonly isInterrupted?: boolean
  readonly isAnswered?: boolean
  readonly usage?: VoiceUsage | undefined
  /** The reason of a failure, or of an answer that was denied. */
  readonly problem?: string | undefined
}

/** Tokens of an answer. */
export interface VoiceUsage {
  readonly inTokens: number
  readonly outTokens: number
}
