/** Real arguments for methods of Google's SDK. */
import { join } from "node:path"
import { type GoogleGenAI, RawReferenceImage } from "@google/genai"
import { png } from "../../test/support/media-samples.ts"
import { type Uses, untilDone } from "./prepared.ts"

const contents = "Hello, river"
const picture = { imageBytes: png.toString("base64"), mimeType: "image/png" }
const upload = () => ({ file: new Blob(["Hello"]), config: { mimeType: "text/plain" } })
const src = [{ contents: [{ role: "user", parts: [{ text: "Hello, river" }] }] }]

export const geminiUses = (client: GoogleGenAI, folder: string): Uses => {
  const file = async () => (await client.files.upload(upload())).name ?? ""
  const batch = async () => (await client.batches.create({ model: "main", src })).name ?? ""
  const endedBatch = async () => {
    const name = await batch()
    await untilDone(
      () => client.batches.get({ name }),
      ({ state }) => state !== "JOB_STATE_RUNNING" && state !== "JOB_STATE_PENDING",
    )
    return name
  }
  const withFile = async () => [{ name: await file() }]
  return {
    "models.generateContent": () => [{ model: "main", contents }],
    "models.generateContentStream": () => [{ model: "main", contents }],
    "models.embedContent": () => [{ model: "embed", contents }],
    "models.countTokens": () => [{ model: "main", contents }],
    "models.computeTokens": () => [{ model: "main", contents }],
    "models.get": () => [{ model: "main" }],
    "models.generateImages": () => [{ model: "draw", prompt: "a river" }],
    "models.generateVideos": () => [{ model: "film", source: { prompt: "a river" } }],
    "models.editImage": () => [
      {
        model: "draw",
        prompt: "a river",
        referenceImages: [Object.assign(new RawReferenceImage(), { referenceId: 1, referenceImage: picture })],
      },
    ],
    "models.upscaleImage": () => [{ model: "draw", image: picture, upscaleFactor: "x2" }],
    "models.recontextImage": () => [
      { model: "draw", source: { prompt: "a river", productImages: [{ productImage: picture }] } },
    ],
    "models.segmentImage": () => [{ model: "draw", source: { image: picture } }],
    "live.connect": () => [{ model: "talk-google", callbacks: { onmessage: () => {} } }],
    "batches.create": () => [{ model: "main", src }],
    "batches.createEmbeddings": () => [{ model: "embed", src: { inlinedRequests: { contents: ["a river"] } } }],
    "batches.get": async () => [{ name: await batch() }],
    "batches.cancel": async () => [{ name: await batch() }],
    "batches.delete": async () => [{ name: await endedBatch() }],
    "files.upload": () => [upload()],
    "files.get": withFile,
    "files.delete": withFile,
    "files.download": async () => [{ file: await file(), downloadPath: join(folder, "downloaded") }],
    "caches.create": () => [{ model: "main", config: { contents, ttl: "300s" } }],
  }
}
