/** Routes of other APIs that are no calls: lists of models, states of videos, tokens for realtime sessions. */

import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { isAuthorised } from "../../calls/model.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { messagesApi } from "../../dialects/anthropic/client.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { cohereErrors } from "../../dialects/cohere/whole-client.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { openaiVideoOf, openaiVideosOf } from "../../dialects/openai-chat/video-client.ts"
import type { Caller } from "../../identity/caller.ts"
import { serviceError } from "../../protocol/error.ts"
import { handlesOf } from "../../tenants/subject-limits.ts"
import { fromRouter } from "../caller-request.ts"
import { PassThrough } from "../pass-through/pass-through.ts"
import type { Request } from "../request.ts"
import { routeNotFound } from "../respond.ts"
import { makeVideos, viewOf } from "../routes/videos.ts"
import { makeClientSecrets } from "./client-secrets.ts"
import { makeLiveTokens } from "./live-tokens.ts"
import { geminiVersions } from "./model-path.ts"
import { anthropicModels, cohereModels, geminiModels, type ModelForm, openaiModels } from "./models.ts"
import { pathsWithoutDialect } from "./refused-paths.ts"
import { failureIn, makeAnswerIn } from "./reply.ts"
import { handleOf } from "./request.ts"

const unknownModel = serviceError("not_found", "There is no such model")

/** Maximum body of a request for a client secret. */
const maxSecretBytes = 16 * 1024

type VideoAnswer = Effect.Success<typeof makeVideos>["content"]

export const compatibleRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const catalogue = yield* Catalogue
    const answerIn = yield* makeAnswerIn
    const videos = yield* makeVideos
    const { answer: passed } = yield* PassThrough

    const modelOf = (caller: Caller, name: string) => {
      const snapshot = catalogue.current()
      const handle = handleOf(name, caller.org.aliases)
      return isAuthorised(handle, caller, snapshot) ? snapshot.model(handle)?.model : undefined
    }

    const addModels = Effect.fnUntraced(function* (api: ErrorWords, path: `/${string}`, form: ModelForm) {
      yield* router.add("GET", path, (request) =>
        answerIn(api, fromRouter(request), ({ caller }) => {
          const models = handlesOf(caller, catalogue.current()).flatMap((handle) => modelOf(caller, handle) ?? [])
          return Effect.succeed(HttpServerResponse.jsonUnsafe(form.list(models)))
        }),
      )
      yield* router.add("GET", `${path}/:id`, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(api, fromRouter(request), ({ caller }) => {
            const model = modelOf(caller, id)
            return model === undefined ? unknownModel : Effect.succeed(HttpServerResponse.jsonUnsafe(form.one(model)))
          }),
        ),
      )
    })

    yield* addModels(chatApi, "/openai/v1/models", openaiModels)
    yield* addModels(messagesApi, "/anthropic/v1/models", anthropicModels)
    yield* addModels(cohereErrors, "/cohere/v1/models", cohereModels)
    yield* router.add("POST", "/cohere/v1/check-api-key", (request) =>
      answerIn(cohereErrors, fromRouter(request), ({ caller }) =>
        Effect.succeed(HttpServerResponse.jsonUnsafe({ valid: true, organization_id: caller.org.id })),
      ),
    )
    for (const version of geminiVersions) {
      yield* addModels(generateApi, `/gemini/${version}/models`, geminiModels)
    }
    const addVideo = (method: "GET" | "DELETE", path: `/${string}`, answer: VideoAnswer) =>
      router.add(method, path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(chatApi, fromRouter(request), (call) => answer(call, id)),
        ),
      )
    yield* router.add("GET", "/openai/v1/videos", (request) =>
      answerIn(chatApi, fromRouter(request), (call) =>
        Effect.map(videos.list(call), ({ jobs, hasMore }) =>
          HttpServerResponse.jsonUnsafe(openaiVideosOf(jobs.map(viewOf), hasMore)),
        ),
      ),
    )
    yield* addVideo("GET", "/openai/v1/videos/:id", (call, id) =>
      Effect.map(videos.find(call.caller, id), (job) => HttpServerResponse.jsonUnsafe(openaiVideoOf(viewOf(job)))),
    )
    yield* addVideo("GET", "/openai/v1/videos/:id/content", videos.content)
    yield* addVideo("DELETE", "/openai/v1/videos/:id", (call, id) =>
      Effect.map(videos.cancel(call, id), () =>
        HttpServerResponse.jsonUnsafe({ id, object: "video.deleted", deleted: true }),
      ),
    )
    const clientSecret = yield* makeClientSecrets
    yield* router.add("POST", "/openai/v1/realtime/client_secrets", (request) =>
      answerIn(chatApi, fromRouter(request), clientSecret, maxSecretBytes),
    )
    const liveToken = yield* makeLiveTokens
    for (const version of geminiVersions) {
      yield* router.add("POST", `/gemini/${version}/auth_tokens`, (request) =>
        answerIn(generateApi, fromRouter(request), liveToken, maxSecretBytes),
      )
    }
    for (const { method, path, api, message } of pathsWithoutDialect) {
      const refusal = serviceError("bad_request", message)
      const refuse = (request: Request) => passed(request) ?? failureIn(api)(newRequestId(), refusal)
      if (method === undefined) yield* router.add("*", `${path}/*`, refuse)
      else yield* router.add(method, path, refuse)
    }
    // Clients request the base to check whether it answers.
    yield* router.add("*", "/anthropic", ({ method }) =>
      method === "HEAD"
        ? Effect.succeed(HttpServerResponse.empty({ status: 200 }))
        : failureIn(messagesApi)(newRequestId(), routeNotFound),
    )
  }),
)
