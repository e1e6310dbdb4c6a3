/** Limits of plans and organisations on pictures, sound and video, and their form in the bundle. */
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { Bundle } from "../../src/protocol/control/bundle.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { png, wavOf } from "../support/media-samples.ts"

const ids = newTestIds()

const kinds = [
  ["draw", "image", "images", "imagegen", "imageGen"],
  ["say", "speech", "characters", "tts", "textToSpeech"],
  ["hear", "transcription", "audio_seconds", "asr", "speechToText"],
  ["film", "video", "video_seconds", "videogen", "videoGen"],
] as const

const daily = kinds.map(([, , , quota]) => {
  const name = quota.charAt(0).toUpperCase() + quota.slice(1)
  return `${quota}Daily: 3, endUser${name}Daily: 1`
})

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "models:\n",
      `models:\n${kinds.map(([handle, kind]) => `  - { handle: ${handle}, kind: ${kind}, targets: [{ vendor: openai, model: m }] }\n`).join("")}`,
    )
    .replace(
      "prices:\n",
      `prices:\n${kinds.map(([model, , unit]) => `  - { model: ${model}, currency: USD, dims: { ${unit}: "1" }, from: 2026-01-01 }\n`).join("")}`,
    )
    .replace("{ id: team, perMinute: 100000 }", `{ id: team, perMinute: 100000, ${daily.join(", ")} }`)
    .replace("models: [main,", "models: [draw, say, hear, film, main,")
    .replace(
      /(- \{ id: org_\w+, name: Test,)/,
      "$1 capabilities: { imageGen: true, videoGen: true, textToSpeech: true },",
    )

const gateway = useGateway({ ids, catalogue })
const plain = useGateway()

beforeEach(() => {
  gateway().vendor.script(async (call) => {
    const isSound = call.path.endsWith("/speech")
    call.head(200, { "content-type": isSound ? "audio/mpeg" : "application/json" })
    if (isSound) await call.write("sound")
    else {
      const data = [{ b64_json: png.toString("base64") }]
      await call.write(JSON.stringify({ id: "v", status: "queued", text: "Hi", duration: 1, data }))
    }
    call.end()
  })
})

const bodies: Readonly<Record<string, object>> = {
  draw: { prompt: "a weir" },
  say: { input: "Hello", voice: "alloy" },
  hear: { file: { t: "file", mime: "audio/wav", data: wavOf(1).toString("base64") } },
  film: { prompt: "a weir", seconds: 1 },
}
const paths: Readonly<Record<string, string>> = {
  draw: "/t1/images",
  say: "/t1/speech",
  hear: "/t1/transcriptions",
  film: "/t1/videos",
}
const call = (model: string, headers: Record<string, string | undefined> = {}, to = gateway()) =>
  to.call("POST", paths[model] ?? "", { model, ...bodies[model] }, headers)
const endUser = async (endUserId: string) => {
  const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId })
  const { token } = Schema.decodeUnknownSync(AppTokenResponse)(await minted.json())
  return { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-app-token": token }
}
const bundle = async (headers: Record<string, string> = {}) =>
  Schema.decodeUnknownSync(Bundle)(await (await gateway().call("GET", "/t1/config", undefined, headers)).json())

describe.each(kinds)("%s", (model, _kind, _unit, quota, capability) => {
  it("is for end users of organisations with its capability, and within the quotas of a day", async () => {
    const [ada, bob] = [await endUser(`ada-${model}`), await endUser(`bob-${model}`)]
    if (model === "hear") {
      expect(await errorOf(await call(model, ada))).toMatchObject({
        status: 403,
        code: "forbidden",
        detail: { capability },
      })
      for (let at = 0; at < 3; at++) expect((await call(model)).status).toBe(200)
    } else {
      const good = model === "film" ? 202 : 200
      expect((await call(model, ada)).status).toBe(good)
      const code = `${quota}_quota_exceeded`
      expect(await errorOf(await call(model, ada))).toMatchObject({ status: 429, code, detail: { limit: 1, used: 1 } })
      expect((await call(model, bob)).status).toBe(good)
      expect((await call(model)).status).toBe(good)
    }
    expect(await errorOf(await call(model))).toMatchObject({
      status: 429,
      code: `${quota}_quota_exceeded`,
      detail: { limit: 3, used: 3 },
    })
  })

  it("is not configured where no model does it", async () => {
    expect(await errorOf(await call(model, {}, plain()))).toMatchObject({
      status: 503,
      code: `${quota}_not_configured`,
    })
  })
})

describe("the bundle", () => {
  it("lists the caller's handles by kind, and media by the tier of the client", async () => {
    const full = await bundle({ "x-svc-client-features": "platform-audio" })
    expect(full.platformModels).toEqual({
      image: ["draw"],
      video: ["film"],
      speechToText: ["hear"],
      textToSpeech: ["say"],
    })
    expect(full.media).toEqual({ asr: { enabled: true }, tts: { enabled: true } })
    expect(full.models.map(({ handle }) => handle)).not.toContain("draw")
  })
})
