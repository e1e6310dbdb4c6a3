/** Real arguments for methods of Google's SDK. */
import { join } from "node:path"
import { type GoogleGenAI, Modality, RawReferenceImage } from "@google/genai"
import { png } from "../../test/support/media-samples.ts"
import { type Uses, untilDone } from "./prepared.ts"

const contents = "Hello, river"
const picture = { imageBytes: png.toString("base64"), mimeType: "image/png" }
const content = { model: "kept", config: { contents, ttl: "300s" } }
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
  const cached = async () => ({ name: (await client.caches.create(content)).name ?? "" })
  const withFile = async () => [{ name: await file() }]
  return {
    "models.generateContent": async () => [{ model: "main", contents }],
    "models.generateContentStream": async () => [{ model: "main", contents }],
    "models.embedContent": async () => [{ model: "embed", contents }],
    "models.countTokens": async () => [{ model: "main", contents }],
    "models.computeTokens": async () => [{ model: "main", contents }],
    "models.get": async () => [{ model: "main" }],
    "models.generateImages": async () => [{ model: "draw", prompt: "a river" }],
    "models.generateVideos": async () => [{ model: "film", source: { prompt: "a river" } }],
    "models.editImage": async () => [
      {
        model: "draw",
        prompt: "a river",
        referenceImages: [Object.assign(new RawReferenceImage(), { referenceId: 1, referenceImage: picture })],
      },
    ],
    "models.upscaleImage": async () => [{ model: "draw", image: picture, upscaleFactor: "x2" }],
    "models.recontextImage": async () => [
      { model: "draw", source: { prompt: "a river", productImages: [{ productImage: picture }] } },
    ],
    "models.segmentImage": async () => [{ model: "draw", source: { image: picture } }],
    "live.connect": async () => [
      { model: "talk-google", config: { responseModalities: [Modality.TEXT] }, callbacks: { onmessage: () => {} } },
    ],
    "batches.create": async () => [{ model: "main", src }],
    "batches.createEmbeddings": async () => [{ model: "embed", src: { inlinedRequests: { contents: ["a river"] } } }],
    "batches.get": async () => [{ name: await batch() }],
    "batches.cancel": async () => [{ name: await batch() }],
    "batches.delete": async () => [{ name: await endedBatch() }],
    "files.upload": async () => [upload()],
    "files.get": withFile,
    "files.delete": withFile,
    "files.download": async () => [{ file: await file(), downloadPath: join(folder, "downloaded") }],
    "caches.create": async () => [content],
    "caches.get": async () => [await cached()],
    "caches.delete": async () => [await cached()],
    "caches.update": async () => [{ ...(await cached()), config: { ttl: "200s" } }],
  }
}
