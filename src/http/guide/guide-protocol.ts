/** Messages between the routes of the guide and its thread. */
import { Schema } from "effect"

/** `path` asks for a page, `search` for results, `document` for the OpenAPI document. */
export const Question = Schema.Struct({
  id: Schema.Int,
  ask: Schema.Literals(["path", "search", "document"]),
  text: Schema.String,
})
export type Question = typeof Question.Type

/** The text; `null` if there is no such page. */
export const Answer = Schema.Struct({ id: Schema.Int, text: Schema.NullOr(Schema.String) })
export type Answer = typeof Answer.Type

/** The address of the gateway, which the OpenAPI document names. */
export const GuideData = Schema.Struct({ serverUrl: Schema.String })
export type GuideData = typeof GuideData.Type

export const isQuestion = Schema.is(Question)
export const isAnswer = Schema.is(Answer)
export const isGuideData = Schema.is(GuideData)
