// A turn of voice with Google's SDK through Weir: a text is said, the answer comes as sound with its transcript.
import { GoogleGenAI, Modality } from "@google/genai"

const { SVC_KEY_ID, SVC_KEY, WEIR_URL = "http://127.0.0.1:8080" } = process.env
const google = new GoogleGenAI({
  apiKey: `${SVC_KEY_ID}~${SVC_KEY}`,
  httpOptions: { baseUrl: `${WEIR_URL}/gemini` },
})

let words = ""
let soundBytes = 0
const ended = Promise.withResolvers()
const session = await google.live.connect({
  model: "talk-google",
  config: { responseModalities: [Modality.AUDIO], outputAudioTranscription: {} },
  callbacks: {
    onmessage: ({ serverContent, usageMetadata, data }) => {
      words += serverContent?.outputTranscription?.text ?? ""
      soundBytes += Buffer.from(data ?? "", "base64").length
      if (serverContent?.turnComplete) ended.resolve(usageMetadata)
    },
    onclose: ({ code, reason }) => ended.reject(new Error(`${code} ${reason}`)),
  },
})
session.sendClientContent({ turns: "Hello, river" })
const { totalTokenCount } = await ended.promise
console.log(`${words} (${(soundBytes / 48_000).toFixed(1)} s of sound, ${totalTokenCount} tokens)`)
session.close()
