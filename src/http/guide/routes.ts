/** `/docs`: the guide, its search and the API's reference; `/openapi.json`. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { WeirConfig } from "../../config.ts"
import { compressed } from "../compressed.ts"
import { type Access, guarded } from "../internal-access.ts"
import { pageHeaders, rootOf } from "../page.ts"
import type { Request } from "../request.ts"
import { respond, routeNotFound } from "../respond.ts"
import { frontPage } from "./contents.ts"
import { makeGuideThread } from "./guide-thread.ts"
import { guidePolicy } from "./layout.ts"

const html = "text/html; charset=utf-8"
const headers = { ...pageHeaders, "cache-control": "no-cache", "content-security-policy": guidePolicy }

export const guideRoutes = (access: Access) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const { publicUrl, basePath } = yield* WeirConfig
      const ask = yield* makeGuideThread({ serverUrl: publicUrl ?? (basePath || "/") })

      const showPage = Effect.fnUntraced(function* (request: Request) {
        const { pathname, searchParams } = new URL(request.url, "http://localhost")
        const path = pathname.replace(/^\/docs\/?/, "") || frontPage
        const page = yield* path === "search" ? ask("search", searchParams.get("q") ?? "") : ask("path", path)
        if (page === undefined) return yield* routeNotFound
        const text = page.replaceAll(/ (action|href)="\/(?!\/)/g, ` $1="${rootOf(request)}`)
        return yield* compressed(request, html, text, headers)
      })

      const showDocument = Effect.fnUntraced(function* (request: Request) {
        const document = yield* ask("document", "")
        return yield* compressed(request, "application/json", document ?? "", { "cache-control": "no-cache" })
      })

      const shown = (page: ReturnType<typeof showPage>) => guarded(access, respond(newRequestId(), page))
      yield* router.add("GET", "/docs/*", (request) => shown(showPage(request)))
      yield* router.add("GET", "/openapi.json", (request) => shown(showDocument(request)))
    }),
  )
