/** Requests to each kind of engine, and its answers, as their documentation and their users know them. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { engineOf, moderationOf } from "../../../../src/policies/engines/compile.ts"
import type { About } from "../../../../src/policies/engines/engine.ts"
import { piecesOf } from "../../../../src/policies/engines/pieces.ts"
import { Moderation } from "../../../../src/protocol/catalogue/policy.ts"
import { PolicyEngine } from "../../../../src/protocol/catalogue/policy-engine.ts"
import { targetAt } from "../../../support/engines/kinds.ts"
import { guardAnswer } from "../../../support/engines/rules.ts"

const decode = Schema.decodeUnknownSync(PolicyEngine, { onExcessProperty: "error" })
const about: About = { policy: "p", direction: "inbound", requestId: "r", earlier: undefined, nowMs: 1_800_000_000_000 }
const resolvers = { secret: () => undefined, targets: () => [targetAt("http://guard/v1")] }

const asked = (entry: object, text = "Good morning", more: Partial<About> = {}) => {
  const { engine } = engineOf(decode(entry), resolvers)
  return engine
    .questions(piecesOf(text, engine.longestPiece), { ...about, ...more })
    .flatMap(({ ways }) => ways)
    .map((way) => ({
      path: way.path,
      baseUrl: way.baseUrl,
      body: JSON.parse(way.body),
      read: (body: unknown) => {
        const said = typeof body === "string" ? body : JSON.stringify(body)
        const answer = way.read({ status: 200, headers: { "content-type": "application/json" }, body: said })
        return Result.isSuccess(answer) ? answer.success : answer.failure
      },
    }))
}

const only = <A>([first]: ReadonlyArray<A>): A => {
  if (first === undefined) throw new Error("nothing is asked")
  return first
}

const clean = { isFlagged: false, spans: [] }
const flagged = { isFlagged: true, spans: [] }

describe("presidio", () => {
  const entry = { kind: "presidio", baseUrl: "http://presidio:3000" }

  it("gets a text, its language, and the entities and threshold that are set", () => {
    expect(only(asked(entry))).toMatchObject({ path: "/analyze", body: { text: "Good morning", language: "en" } })
    const more = { language: "de", entities: ["PERSON"], threshold: 0.6 }
    expect(only(asked({ ...entry, ...more })).body).toEqual({
      text: "Good morning",
      language: "de",
      entities: ["PERSON"],
      score_threshold: 0.6,
    })
  })

  const text = "🌊👩‍🚀 ada@example.com 🌊 +43 1 234"
  const from = [..."🌊👩‍🚀 "].length
  it("has places in code points, which become those of UTF-16", () => {
    const found = only(asked(entry, text)).read([
      { entity_type: "EMAIL_ADDRESS", start: from, end: from + 15, score: 1, analysis_explanation: null },
    ])
    const start = text.indexOf("ada")
    expect(found).toEqual({ isFlagged: true, spans: [{ start, end: start + 15, label: "EMAIL" }] })
  })

  it("has the surest finding first", () => {
    const finding = (entity_type: string, score?: number) => ({ entity_type, start: 0, end: 4, score })
    const found = only(asked(entry)).read([finding("US_BANK_NUMBER", 0.05), finding("URL"), finding("CREDIT_CARD", 1)])
    expect(found).toMatchObject({ spans: [{ label: "CARD" }, { label: "USBANKNUMBER" }, { label: "URL" }] })
  })

  it.each([
    ["after the end", [{ entity_type: "PERSON", start: 0, end: 99 }]],
    ["backwards", [{ entity_type: "PERSON", start: 5, end: 2 }]],
    ["empty", [{ entity_type: "PERSON", start: 5, end: 5 }]],
    ["negative", [{ entity_type: "PERSON", start: -1, end: 5 }]],
    ["in the middle of a number", [{ entity_type: "PERSON", start: 0.5, end: 5 }]],
    ["a text", [{ entity_type: "PERSON", start: "0", end: "5" }]],
    ["without a type", [{ start: 0, end: 5 }]],
    ["null", [null]],
    ["an answer to a list of texts", [[{ entity_type: "PERSON", start: 0, end: 5 }]]],
    ["a list in an object", { list: [] }],
  ])("a finding whose place is %s is no verdict", (_name, findings) => {
    expect(only(asked(entry)).read(findings)).toBe("malformed")
  })
})

describe("bedrock-guardrail", () => {
  const aws = { region: "eu-west-1", credentials: "default" }
  const entry = { kind: "bedrock-guardrail", guardrail: "gr1", version: "DRAFT", aws }
  const assessed = (assessments: ReadonlyArray<object>, action = "NONE", more = {}) => ({
    action,
    assessments,
    outputs: [],
    ...more,
  })

  it("is asked at its region, by its id or ARN, as input or output", () => {
    expect(only(asked(entry))).toMatchObject({
      baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com",
      path: "/guardrail/gr1/version/DRAFT/apply",
      body: { source: "INPUT", content: [{ text: { text: "Good morning" } }] },
    })
    const arn = "arn:aws:bedrock:eu-west-1:123456789012:guardrail/gr1"
    expect(only(asked({ ...entry, guardrail: arn, version: "3" }, "Hm", { direction: "outbound" }))).toMatchObject({
      path: "/guardrail/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aguardrail%2Fgr1/version/3/apply",
      body: { source: "OUTPUT" },
    })
    const china = { ...entry, aws: { ...aws, region: "cn-north-1" } }
    expect(only(asked(china)).baseUrl).toBe("https://bedrock-runtime.cn-north-1.amazonaws.com.cn")
  })

  it.each([
    ["nothing", assessed([{}]), clean],
    [
      "a detection without an action",
      assessed([{ topicPolicy: { topics: [{ action: "NONE", detected: true }] } }]),
      clean,
    ],
    ["a block", assessed([{ wordPolicy: { customWords: [{ action: "BLOCKED" }] } }], "GUARDRAIL_INTERVENED"), flagged],
    ["a mask", assessed([{ sensitiveInformationPolicy: { regexes: [{ action: "ANONYMIZED" }] } }]), flagged],
    [
      "a block in the second assessment",
      assessed([{}, { contentPolicy: { filters: [{ action: "BLOCKED" }] } }]),
      flagged,
    ],
    ["an intervention without its reason", { action: "GUARDRAIL_INTERVENED" }, flagged],
    ["a block beside what cannot be read", { action: 5, assessments: [{ x: { action: "BLOCKED" } }] }, flagged],
    ["another action", assessed([{}], "SOMETHING"), "malformed"],
    ["no assessments", { action: "NONE" }, "malformed"],
    ["a part", assessed([{}], "NONE", { guardrailCoverage: { textCharacters: { guarded: 5, total: 12 } } }), "partial"],
  ])("finds %s", (_name, reply, expected) => {
    expect(only(asked(entry)).read(reply)).toEqual(expected)
  })
})

describe("azure-content-safety", () => {
  const entry = {
    kind: "azure-content-safety",
    baseUrl: "https://mine.cognitiveservices.azure.com",
    credential: "env:A",
  }
  const severities = (
    given: Readonly<Record<string, number | undefined>>,
    blocklistsMatch: ReadonlyArray<object> = [],
  ) => ({
    blocklistsMatch,
    categoriesAnalysis: Object.entries(given).map(([category, severity]) => ({ category, severity })),
  })
  const none = { Hate: 0, SelfHarm: 0, Sexual: 0, Violence: 0 }

  it("analyses the categories with a threshold, and the blocklists", () => {
    const thresholds = { Hate: 2, Violence: 6 }
    const [analyse, ...others] = asked({ ...entry, thresholds, blocklists: ["mine"] })
    expect(others).toEqual([])
    expect(analyse?.path).toBe("/contentsafety/text:analyze?api-version=2024-09-01")
    expect(analyse?.body).toEqual({
      text: "Good morning",
      categories: ["Hate", "Violence"],
      blocklistNames: ["mine"],
      haltOnBlocklistHit: false,
      outputType: "EightSeverityLevels",
    })
    expect(analyse?.read(severities({ Hate: 1, Violence: 5 }))).toEqual(clean)
    expect(analyse?.read(severities({ Hate: 2, Violence: 5 }))).toEqual(flagged)
    expect(analyse?.read(severities({ Hate: 0, Violence: 6 }))).toEqual(flagged)
  })

  it.each([
    ["severities below the threshold", severities({ ...none, Hate: 3 }), clean],
    ["one that reaches it", severities({ ...none, Sexual: 4 }), flagged],
    ["one that reaches it although others are absent", severities({ Sexual: 4 }), flagged],
    ["a hit of a blocklist", severities({}, [{ blocklistName: "mine" }]), flagged],
    ["a category that is absent", severities({ Hate: 0, SelfHarm: 0, Sexual: 0 }), "partial"],
    ["a severity that is absent", severities({ ...none, Hate: undefined }), "partial"],
    ["an error", { error: { code: "InternalError" } }, "malformed"],
  ])("reads %s", (_name, reply, expected) => {
    expect(only(asked(entry)).read(reply)).toEqual(expected)
  })

  it("tests requests for attacks, and replies not", () => {
    const shielded = { ...entry, shieldPrompt: true }
    const [, shield] = asked(shielded)
    expect(shield?.path).toBe("/contentsafety/text:shieldPrompt?api-version=2024-09-01")
    expect(shield?.body).toEqual({ userPrompt: "Good morning", documents: [] })
    expect(shield?.read({ userPromptAnalysis: { attackDetected: true }, documentsAnalysis: [] })).toEqual(flagged)
    expect(shield?.read({ userPromptAnalysis: { attackDetected: false } })).toEqual(clean)
    expect(shield?.read({ userPromptAnalysis: {} })).toBe("malformed")
    expect(asked(shielded, "Hm", { direction: "outbound" }).length).toBe(1)
  })
})

describe("model-armor", () => {
  const template = "projects/p/locations/europe-west4/templates/strict"
  const entry = { kind: "model-armor", template, credentials: "default" }
  const state = (matchState: string, executionState = "EXECUTION_SUCCESS") => ({ executionState, matchState })
  const result = (filterResults: object, filterMatchState = "NO_MATCH_FOUND", invocationResult = "SUCCESS") => ({
    sanitizationResult: { filterMatchState, invocationResult, filterResults },
  })

  it("is asked at the location of its template, about a prompt or an answer to one", () => {
    expect(only(asked(entry))).toMatchObject({
      baseUrl: "https://modelarmor.europe-west4.rep.googleapis.com",
      path: `/v1/${template}:sanitizeUserPrompt`,
      body: { userPromptData: { text: "Good morning" } },
    })
    const reply = only(asked(entry, "Fine", { direction: "outbound", earlier: "How are you?" }))
    expect(reply.path).toBe(`/v1/${template}:sanitizeModelResponse`)
    expect(reply.body).toEqual({ modelResponseData: { text: "Fine" }, userPrompt: "How are you?" })
  })

  const raised = { rai: { raiFilterResult: { raiFilterTypeResults: { dangerous: { matchState: "MATCH_FOUND" } } } } }
  const inspected = { sdp: { sdpFilterResult: { inspectResult: state("MATCH_FOUND") } } }
  const changed = { sdp: { sdpFilterResult: { deidentifyResult: state("MATCH_FOUND") } } }
  it.each([
    ["nothing", result({ csam: { csamFilterFilterResult: state("NO_MATCH_FOUND") } }), clean],
    ["a match at the top", result({}, "MATCH_FOUND"), flagged],
    ["a match that the top denies", result(raised), flagged],
    ["an inspection", result(inspected), flagged],
    ["a change", result(changed), flagged],
    ["a match in a part", result(raised, "NO_MATCH_FOUND", "PARTIAL"), flagged],
    ["nothing in a part", result({}, "NO_MATCH_FOUND", "PARTIAL"), "partial"],
    ["a failure", result({}, "NO_MATCH_FOUND", "FAILURE"), "partial"],
    ["a filter that was skipped", result({ x: state("NO_MATCH_FOUND", "EXECUTION_SKIPPED") }), "partial"],
    ["a state that nobody knows", result({}, "FILTER_MATCH_STATE_UNSPECIFIED"), "malformed"],
    ["an error", { error: { code: 403, status: "PERMISSION_DENIED" } }, "malformed"],
  ])("finds %s", (_name, reply, expected) => {
    expect(only(asked(entry)).read(reply)).toEqual(expected)
  })
})

describe("lakera", () => {
  const entry = { kind: "lakera", project: "project_acme" }
  const text = "🌊 mail ada@example.com"
  const item = { text: "ada@example.com", detector_type: "pii/email", labels: [], message_id: 0 }
  const start = text.indexOf("ada")
  const place = { start, end: start + 15, label: "EMAIL" }

  it("gets the messages so far, the last of which is judged", () => {
    expect(only(asked(entry))).toMatchObject({
      baseUrl: "https://api.lakera.ai",
      path: "/v2/guard",
      body: { messages: [{ role: "user", content: "Good morning" }], project_id: "project_acme", payload: true },
    })
    expect(only(asked(entry, "Fine", { direction: "outbound", earlier: "How?" })).body.messages).toEqual([
      { role: "user", content: "How?" },
      { role: "assistant", content: "Fine" },
    ])
  })

  it.each([
    ["nothing", { flagged: false, payload: [] }, clean],
    ["a flag with nothing to mask", { flagged: true, payload: [] }, flagged],
    ["a flag alone", { flagged: true }, flagged],
    [
      "a place in code points",
      { flagged: true, payload: [{ ...item, start: start - 1, end: start + 14 }] },
      { isFlagged: true, spans: [place] },
    ],
    [
      "a place in UTF-16",
      { flagged: true, payload: [{ ...item, start, end: start + 15 }] },
      { isFlagged: true, spans: [place] },
    ],
    ["a place of another text", { flagged: true, payload: [{ ...item, start: 0, end: 15 }] }, flagged],
    ["a place after the end", { flagged: true, payload: [{ ...item, start: 90, end: 105 }] }, flagged],
    [
      "a place of another message",
      { flagged: true, payload: [{ ...item, start, end: start + 15, message_id: 1 }] },
      flagged,
    ],
    ["a flag beside what cannot be read", { flagged: true, payload: 5, breakdown: "?" }, flagged],
    ["no flag", { payload: [] }, "malformed"],
    ["a text for a flag", { flagged: "false" }, "malformed"],
  ])("reads %s", (_name, reply, expected) => {
    expect(only(asked(entry, text)).read(reply)).toEqual(expected)
  })
})

describe("model", () => {
  const entry = { kind: "model", model: "guard" }

  it("gets the text as a user's turn, a reply after the turn that it answers, and instructions before the text", () => {
    const messages = (more: object, about: Partial<About> = {}) =>
      only(asked({ ...entry, ...more }, "Fine", about)).body.messages.map(
        ({ role, content }: { readonly role: string; readonly content: string }) =>
          `${role}: ${content.split("\n")[0]}`,
      )
    expect(messages({})).toEqual(["user: Fine"])
    expect(messages({}, { direction: "outbound", earlier: "How?" })).toEqual(["user: How?", "assistant: Fine"])
    expect(messages({}, { direction: "outbound" })).toEqual(["user: Fine"])
    expect(messages({ prompt: "No poems." }, { direction: "outbound", earlier: "How?" })).toEqual([
      "system: No poems.",
      "user: Fine",
    ])
  })

  it.each<[string, string, object | string]>([
    ["safe", "stop", clean],
    ["\n\nsafe", "stop", clean],
    ["Safe\n", "stop", clean],
    ["unsafe\nS1", "stop", flagged],
    ["\n\nunsafe \nS1, S2", "stop", flagged],
    ["unsafe", "length", flagged],
    ["UNSAFE", "stop", flagged],
    ["safe", "length", "malformed"],
    ["safe", "content_filter", "malformed"],
    ["safe\nS1", "stop", "malformed"],
    ["safe to proceed with unsafe things", "stop", "malformed"],
    ["Safe.", "stop", "malformed"],
    ["not safe", "stop", "malformed"],
    ["unsafely put", "stop", "malformed"],
    ["I cannot help with that", "stop", "malformed"],
    ["", "stop", "malformed"],
  ])("that answers %j and ends by %s", (content, finish, expected) => {
    expect(only(asked(entry)).read(guardAnswer(content, finish))).toEqual(expected)
  })

  it("may answer as a stream", () => {
    const { engine } = engineOf(decode(entry), resolvers)
    const way = only(only(engine.questions([{ at: 0, text: "Hm" }], about)).ways)
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const body = `${chunk({ role: "assistant", content: "un" })}${chunk({ content: "safe\nS1" })}${chunk({}, "stop")}data: [DONE]\n\n`
    const answer = way.read({ status: 200, headers: { "content-type": "text/event-stream" }, body })
    expect(Result.getOrThrow(answer)).toEqual(flagged)
  })
})

describe("webhook", () => {
  const entry = { kind: "webhook", url: "https://guard.example.com/judge/now", secret: "env:A" }

  it("gets the policy, the direction, the text and the id of the review", () => {
    expect(only(asked(entry))).toMatchObject({
      baseUrl: "https://guard.example.com",
      path: "/judge/now",
      body: { policy: "p", direction: "inbound", text: "Good morning", requestId: "r" },
    })
  })

  const span = { start: 5, end: 12, label: "GREETING" }
  it.each([
    ["nothing", { flagged: false }, clean],
    ["nothing, with no places", { flagged: false, spans: [] }, clean],
    ["a flag alone", { flagged: true }, flagged],
    ["a flag with a place", { flagged: true, spans: [span] }, { isFlagged: true, spans: [span] }],
    ["a flag with a place after the end", { flagged: true, spans: [span, { ...span, end: 99 }] }, "malformed"],
    ["a flag with a place before the beginning", { flagged: true, spans: [{ ...span, start: -5 }] }, "malformed"],
    ["a flag with an end before its start", { flagged: true, spans: [{ start: 5, end: 2 }] }, "malformed"],
    ["a flag with places that are none", { flagged: true, spans: "all" }, "malformed"],
    ["a place without a flag", { flagged: false, spans: [span] }, "malformed"],
    ["neither", {}, "malformed"],
    ["a number for a flag", { flagged: 1 }, "malformed"],
  ])("answers %s", (_name, reply, expected) => {
    expect(only(asked(entry)).read(reply)).toEqual(expected)
  })
})

describe("moderation", () => {
  const read = (reply: object, categories?: ReadonlyArray<string>) => {
    const entry = Schema.decodeUnknownSync(Moderation)({ baseUrl: "http://m/v1", ...(categories && { categories }) })
    const { engine } = moderationOf(entry, resolvers)
    const way = only(only(engine.questions(piecesOf("x".repeat(40_000), engine.longestPiece), about)).ways)
    expect(JSON.parse(way.body).input.length).toBe(2)
    const answer = way.read({ status: 200, headers: {}, body: JSON.stringify(reply) })
    return Result.isSuccess(answer) ? answer.success : answer.failure
  }
  const result = (isFlagged: boolean) => ({ flagged: isFlagged, categories: { violence: isFlagged } })

  it.each([
    ["clean pieces", [result(false), result(false)], clean],
    ["a piece that is flagged", [result(false), result(true)], flagged],
    ["a flag beside a piece that is missing", [result(true)], flagged],
    ["too few results", [result(false)], "malformed"],
    ["a result that says nothing", [result(false), {}], "malformed"],
  ])("answers %s", (_name, results, expected) => {
    expect(read({ results })).toEqual(expected)
  })

  it("flags by the categories that are set", () => {
    expect(read({ results: [result(true), result(false)] }, ["harassment"])).toEqual(clean)
    expect(read({ results: [result(true), result(false)] }, ["violence"])).toEqual(flagged)
  })
})
