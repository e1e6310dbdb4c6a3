/** A realtime session from a browser: the sound of the microphone is sent, and the model's sound is played. */
import type { RealtimeApi } from "../../protocol/kinds/call-kind.ts"
import { addressOf } from "../api.ts"
import { googleVoice } from "./google.ts"
import { openaiVoice } from "./openai.ts"
import type { VoiceMessage, VoiceProtocol } from "./protocol.ts"
import { openMicrophone, openPlayer } from "./sound.ts"

export interface VoiceEvents {
  /** Receives each message. */
  readonly received: (message: VoiceMessage) => void
  /** @param problem the reason of a failure; empty after a regular end */
  readonly ended: (problem: string) => void
}

export interface Voice {
  /** Says a text to the model, and asks for an answer. */
  readonly say: (text: string) => void
  readonly end: () => void
}

export interface VoiceOptions {
  readonly api: RealtimeApi
  readonly credential: string
  readonly model: string
  /** Whether the sound of the microphone is sent. */
  readonly withMicrophone: boolean
}

const protocols: Readonly<Record<RealtimeApi, VoiceProtocol>> = { openai: openaiVoice, google: googleVoice }

export const openVoice = async (options: VoiceOptions, events: VoiceEvents): Promise<Voice> => {
  const { api, credential, model, withMicrophone } = options
  const protocol = protocols[api]
  const microphone = withMicrophone ? await openMicrophone(protocol.microphoneRate) : undefined
  const player = openPlayer()
  const { path, protocols: subprotocols } = protocol.addressOf(model, credential)
  const socket = new WebSocket(String(addressOf(path)).replace(/^http/, "ws"), subprotocols)
  socket.binaryType = "arraybuffer"
  const send = (message: object) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  let hasOpened = false
  let problem = ""
  const ready = Promise.withResolvers<void>()
  const setup = protocol.setup(model)
  socket.addEventListener("open", () => {
    hasOpened = true
    if (setup === undefined) ready.resolve()
    else send(setup)
  })
  void ready.promise.then(() => microphone?.listen((sound) => send(protocol.sound(sound))))
  socket.addEventListener("message", ({ data }) => {
    const message = protocol.read(typeof data === "string" ? data : new TextDecoder().decode(data))
    if (message.isReady === true) ready.resolve()
    for (const sound of message.sound ?? []) player.play(sound)
    problem = message.problem ?? problem
    events.received({ ...message, isInterrupted: message.isInterrupted === true && player.silence() })
  })
  socket.addEventListener("close", ({ code, reason }) => {
    microphone?.stop()
    player.stop()
    if (!hasOpened) events.ended("The session could not be opened")
    else if (regularCodes.includes(code)) events.ended(problem)
    else events.ended(reason || problem || `The session ended with code ${code}`)
  })
  return {
    // A text that comes before the session is ready waits for it.
    say: (text) => void ready.promise.then(() => protocol.text(text).forEach(send)),
    end: () => socket.close(1000),
  }
}

/** RFC 6455, section 7.4.1: a normal end, and none stated. */
const regularCodes: ReadonlyArray<number> = [1000, 1005]
