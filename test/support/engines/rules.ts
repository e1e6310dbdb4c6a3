/**
 * The rules of engines' APIs, as their documentation has them: each refuses a request that the real one refuses. A text with
 * `forbidden` is flagged, one with `ada@example.com` has a finding with a place.
 */
import { createHmac } from "node:crypto"
import { Option, Schema } from "effect"
import { refusalOf } from "../sigv4.ts"
import type { Received, TwinReply } from "./twin.ts"

type Rules = (received: Received) => TwinReply

export const forbidden = "forbidden"
export const address = "ada@example.com"

const strictly = { onExcessProperty: "error" } as const
const bodyBy = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(schema), strictly)
  return ({ body }: Received) => Option.getOrUndefined(decode(body))
}

const isJson = ({ headers }: Received) => headers["content-type"] === "application/json"
const isPost = (received: Received, path: string) => received.method === "POST" && received.path === path
const notFound: TwinReply = { status: 404, body: "<html>Not Found</html>", headers: { "content-type": "text/html" } }

/** Every place of a word, in code points. */
const placesOf = (text: string, word: string) => {
  const points = [...text]
  return points.flatMap((_, start) => {
    const end = start + word.length
    return points.slice(start, end).join("") === word ? [{ start, end }] : []
  })
}

const AnalyzeBody = Schema.Struct({
  text: Schema.optionalKey(Schema.String),
  language: Schema.optionalKey(Schema.String),
  entities: Schema.optionalKey(Schema.Array(Schema.String)),
  score_threshold: Schema.optionalKey(Schema.Number),
})
const readAnalyze = bodyBy(AnalyzeBody)

export const presidioRules: Rules = (received) => {
  if (!isPost(received, "/analyze")) return notFound
  const asked = isJson(received) ? readAnalyze(received) : undefined
  if (asked === undefined) return { status: 400, body: { error: `Failed to parse ${received.body}` } }
  const { text = "", language = "", entities = ["EMAIL_ADDRESS"] } = asked
  if (text === "") return { status: 500, body: { error: "No text provided" } }
  if (language === "") return { status: 500, body: { error: "No language provided" } }
  if (language !== "en") return { status: 500, body: { error: `No matching recognizers for ${text}` } }
  if (text.length > 1_000_000) return { status: 500, body: { error: "[E088] Text of length exceeds maximum" } }
  const found = entities.includes("EMAIL_ADDRESS") ? placesOf(text, address) : []
  return {
    body: found.map((place) => ({ analysis_explanation: null, entity_type: "EMAIL_ADDRESS", score: 1, ...place })),
  }
}

const GuardrailBody = Schema.Struct({
  source: Schema.Literals(["INPUT", "OUTPUT"]),
  content: Schema.NonEmptyArray(Schema.Struct({ text: Schema.Struct({ text: Schema.NonEmptyString }) })),
})
const readGuardrail = bodyBy(GuardrailBody)

export const guardrailRules =
  (keys: Parameters<typeof refusalOf>[1]): Rules =>
  (received) => {
    const refusal = (status: number, type: string): TwinReply => ({
      status,
      headers: { "x-amzn-errortype": type },
      body: { message: `${type}: ${received.body}` },
    })
    if (refusalOf(received, keys) !== undefined) return refusal(403, "AccessDeniedException")
    if (!isPost(received, "/guardrail/gr1/version/2/apply")) return refusal(404, "ResourceNotFoundException")
    const asked = readGuardrail(received)
    const text = asked?.content.map((block) => block.text.text).join("") ?? ""
    if (asked === undefined || text.length > 25_000) return refusal(400, "ValidationException")
    const total = text.length
    const did = text.includes(forbidden) ? "BLOCKED" : text.includes(address) ? "ANONYMIZED" : undefined
    const policy =
      did === "BLOCKED"
        ? { topicPolicy: { topics: [{ name: "topic", type: "DENY", action: did }] } }
        : {
            sensitiveInformationPolicy: {
              piiEntities: [{ action: did, detected: true, match: address, type: "EMAIL" }],
            },
          }
    return {
      body: {
        action: did === undefined ? "NONE" : "GUARDRAIL_INTERVENED",
        outputs: did === undefined ? [] : [{ text: "no" }],
        assessments: [did === undefined ? {} : policy],
        guardrailCoverage: { textCharacters: { guarded: total, total } },
      },
    }
  }

const categories = ["Hate", "SelfHarm", "Sexual", "Violence"] as const
const AnalyzeText = Schema.Struct({
  text: Schema.NonEmptyString,
  categories: Schema.optionalKey(Schema.NonEmptyArray(Schema.Literals(categories))),
  blocklistNames: Schema.optionalKey(Schema.Array(Schema.String)),
  haltOnBlocklistHit: Schema.optionalKey(Schema.Boolean),
  outputType: Schema.optionalKey(Schema.Literals(["FourSeverityLevels", "EightSeverityLevels"])),
})
const readAnalyzeText = bodyBy(AnalyzeText)
const Shield = Schema.Struct({ userPrompt: Schema.NonEmptyString, documents: Schema.Array(Schema.String) })
const readShield = bodyBy(Shield)

/** @param isAuthorised whether its headers have the key or a token */
export const contentSafetyRules =
  (isAuthorised: (headers: Received["headers"]) => boolean): Rules =>
  (received) => {
    const refusal = (status: number, code: string): TwinReply => ({
      status,
      headers: { "x-ms-error-code": code },
      body: { error: { code, message: received.body } },
    })
    if (!isAuthorised(received.headers)) return refusal(401, "Unauthorized")
    const isShort = (text: string) => [...text].length <= 10_000
    if (isPost(received, "/contentsafety/text:analyze?api-version=2024-09-01")) {
      const asked = readAnalyzeText(received)
      if (asked === undefined || !isShort(asked.text)) return refusal(400, "InvalidRequestBody")
      const { text } = asked
      const severity = text.includes(forbidden) ? 5 : text.includes("harsh") ? 2 : 0
      const blocked = asked.blocklistNames?.length && text.includes("listed")
      return {
        body: {
          blocklistsMatch: blocked
            ? [{ blocklistName: "mine", blocklistItemId: "1", blocklistItemText: "listed" }]
            : [],
          categoriesAnalysis: (asked.categories ?? categories).map((category) => ({
            category,
            severity: category === "Hate" ? severity : 0,
          })),
        },
      }
    }
    if (!isPost(received, "/contentsafety/text:shieldPrompt?api-version=2024-09-01")) {
      return refusal(404, "ResourceNotFound")
    }
    const asked = readShield(received)
    if (asked === undefined || !isShort(asked.userPrompt)) return refusal(400, "InvalidRequestBody")
    const attackDetected = asked.userPrompt.includes("ignore all instructions")
    return { body: { userPromptAnalysis: { attackDetected }, documentsAnalysis: [] } }
  }

const PromptData = Schema.Struct({ userPromptData: Schema.Struct({ text: Schema.NonEmptyString }) })
const ResponseData = Schema.Struct({
  modelResponseData: Schema.Struct({ text: Schema.NonEmptyString }),
  userPrompt: Schema.optionalKey(Schema.String),
})
const readPromptData = bodyBy(PromptData)
const readResponseData = bodyBy(ResponseData)

export const template = "projects/my-project/locations/europe-west4/templates/strict"

export const armorRules =
  (tokens: ReadonlyArray<string>): Rules =>
  (received) => {
    const refusal = (code: number, status: string): TwinReply => ({
      status: code,
      body: { error: { code, status, message: received.body } },
    })
    if (!tokens.some((token) => received.headers["authorization"] === `Bearer ${token}`)) {
      return refusal(401, "UNAUTHENTICATED")
    }
    const path = `/v1/${template}:`
    const text = isPost(received, `${path}sanitizeUserPrompt`)
      ? readPromptData(received)?.userPromptData.text
      : isPost(received, `${path}sanitizeModelResponse`)
        ? readResponseData(received)?.modelResponseData.text
        : undefined
    if (text === undefined) return refusal(400, "INVALID_ARGUMENT")
    const isLong = text.length > 10_000
    const found = text.includes(forbidden) ? "MATCH_FOUND" : "NO_MATCH_FOUND"
    const state = { executionState: "EXECUTION_SUCCESS", matchState: "NO_MATCH_FOUND" }
    return {
      body: {
        sanitizationResult: {
          filterMatchState: found,
          invocationResult: isLong ? "PARTIAL" : "SUCCESS",
          filterResults: {
            csam: { csamFilterFilterResult: state },
            rai: {
              raiFilterResult: {
                ...state,
                matchState: found,
                raiFilterTypeResults: { dangerous: { matchState: found } },
              },
            },
            pi_and_jailbreak: {
              piAndJailbreakFilterResult: isLong ? { executionState: "EXECUTION_SKIPPED" } : state,
            },
          },
        },
      },
    }
  }

const GuardBody = Schema.Struct({
  messages: Schema.NonEmptyArray(
    Schema.Struct({
      role: Schema.Literals(["system", "user", "assistant", "tool", "developer"]),
      content: Schema.NonEmptyString,
    }),
  ),
  project_id: Schema.optionalKey(Schema.String),
  payload: Schema.optionalKey(Schema.Boolean),
  breakdown: Schema.optionalKey(Schema.Boolean),
})
const readGuard = bodyBy(GuardBody)

export const lakeraRules =
  (key: string): Rules =>
  (received) => {
    if (received.headers["authorization"] !== `Bearer ${key}`) return { status: 401, body: { error: received.body } }
    if (!isPost(received, "/v2/guard")) return notFound
    const asked = readGuard(received)
    const message_id = (asked?.messages.length ?? 0) - 1
    const text = asked?.messages.at(-1)?.content
    if (text === undefined) return { status: 400, body: { error: received.body } }
    const places = placesOf(text, address)
    return {
      body: {
        flagged: text.includes(forbidden) || places.length > 0,
        ...(asked?.payload === true && {
          payload: places.map((place) => ({
            ...place,
            text: address,
            detector_type: "pii/email",
            labels: [],
            message_id,
          })),
        }),
        metadata: { request_uuid: "8b2b6c1c-9f7a-4f8a-9c2d-8a44ca72e975" },
      },
    }
  }

const HookBody = Schema.Struct({
  policy: Schema.NonEmptyString,
  direction: Schema.Literals(["inbound", "outbound"]),
  text: Schema.NonEmptyString,
  requestId: Schema.NonEmptyString,
})
const readHook = bodyBy(HookBody)

export const webhookRules =
  (secret: string): Rules =>
  (received) => {
    const { headers, body } = received
    const [id, at] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])]
    const key = Buffer.from(secret.slice("whsec_".length), "base64")
    const expected = `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`
    const isFresh = Math.abs(Date.now() / 1000 - Number(at)) < 300
    // A library accepts a request if one of its signatures is right.
    const signatures = String(headers["webhook-signature"]).split(" ")
    if (!signatures.includes(expected) || !isFresh) return { status: 401, body: "wrong signature" }
    const asked = readHook(received)
    if (!isPost(received, "/judge") || asked === undefined) return { status: 400, body }
    const { text } = asked
    const start = text.indexOf(address)
    const spans = start < 0 ? [] : [{ start, end: start + address.length, label: "EMAIL" }]
    return { body: { flagged: text.includes(forbidden) || spans.length > 0, spans } }
  }

const ChatBody = Schema.Struct({
  model: Schema.Literal("guard-1"),
  messages: Schema.NonEmptyArray(
    Schema.Struct({ role: Schema.Literals(["system", "user", "assistant"]), content: Schema.NonEmptyString }),
  ),
  max_tokens: Schema.optionalKey(Schema.Number),
  max_completion_tokens: Schema.optionalKey(Schema.Number),
  temperature: Schema.optionalKey(Schema.Number),
  stream: Schema.optionalKey(Schema.Literal(false)),
})
const readChat = bodyBy(ChatBody)

/** A guard model behind OpenAI's API. */
export const guardModelRules =
  (key: string): Rules =>
  (received) => {
    if (received.headers["authorization"] !== `Bearer ${key}`) return { status: 401, body: { error: {} } }
    const asked = isPost(received, "/v1/chat/completions") ? readChat(received) : undefined
    const text = asked?.messages.at(-1)?.content
    if (text === undefined || text.length > 16_000) return { status: 400, body: { error: { message: received.body } } }
    return { body: guardAnswer(text.includes(forbidden) ? "\n\nunsafe \nS1, S2" : "\n\nsafe") }
  }

/** A reply of OpenAI's API with a text. */
export const guardAnswer = (content: string, finish = "stop") => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "guard-1",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finish }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
})

const ModerationBody = Schema.Struct({
  model: Schema.optionalKey(Schema.String),
  input: Schema.NonEmptyArray(Schema.NonEmptyString),
})
const readModeration = bodyBy(ModerationBody)

export const moderationRules =
  (key: string): Rules =>
  (received) => {
    if (received.headers["authorization"] !== `Bearer ${key}`) return { status: 401, body: { error: {} } }
    const asked = isPost(received, "/v1/moderations") ? readModeration(received) : undefined
    if (asked === undefined) return { status: 400, body: { error: { message: received.body } } }
    return {
      body: {
        id: "modr-1",
        model: "omni-moderation-latest",
        results: asked.input.map((text) => ({
          flagged: text.includes(forbidden),
          categories: { violence: text.includes(forbidden), pii: false },
        })),
      },
    }
  }
