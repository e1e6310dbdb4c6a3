/** The pages `/login`, `/activate` and `/auth/sso/link`. */
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { WeirConfig } from "../../config.ts"
import { DeviceLogin } from "../../identity/device-login.ts"
import { Logins } from "../../identity/logins.ts"
import { MailLogin } from "../../identity/mail-login.ts"
import { SsoLogin } from "../../identity/sso-login.ts"
import { Email } from "../../protocol/control/login.ts"
import { type ErrorCode, errorStatus } from "../../protocol/error.ts"
import { StoredText } from "../../protocol/values/text.ts"
import { Directory } from "../../tenants/directory.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { makeAnonymousRoutes } from "../anonymous.ts"
import { withoutSession, withSession } from "../browser-cookies.ts"
import { goTo, pageReply, readForm, respondPage, rootOf } from "../page.ts"
import { decidedPage, decisionPage, userCodePage } from "../pages/activate.ts"
import { codePage, loggedInPage, loginPage, onwardPage } from "../pages/login.ts"
import { linkPage } from "../pages/sso-link.ts"
import { originOf, type Request } from "../request.ts"
import type { RouteError } from "../respond.ts"
import { makeVisitor } from "../visitor.ts"
import { backEndUrl, ownPage, pageAfter } from "./sso.ts"

const Text = StoredText.check(Schema.isMaxLength(512))
const UserCode = StoredText.check(Schema.isMaxLength(16))
const RequestId = StoredText.check(Schema.isMaxLength(64))
const bound = { device: Schema.optionalKey(UserCode), request: Schema.optionalKey(RequestId) }
const EmailForm = Schema.Struct({ email: Email, ...bound })
const CodeForm = Schema.Struct({ email: Email, code: Text, ...bound })
const OrgForm = Schema.Struct({ org: Text, ...bound })
const DecisionForm = Schema.Struct({ userCode: UserCode, decision: Schema.Literals(["approve", "deny"]) })
const LinkForm = Schema.Struct({ linkToken: Text, code: Text })
const EmptyForm = Schema.Struct({})

export const pageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { admitAddress, mayAskFor } = yield* makeAnonymousRoutes
    const config = yield* WeirConfig
    const mailLogin = yield* MailLogin
    const sso = yield* SsoLogin
    const devices = yield* DeviceLogin
    const logins = yield* Logins
    const visitor = yield* makeVisitor
    const tenants = yield* Tenants
    const directory = yield* Directory
    const origin = (request: Request) => originOf(config, request)

    const showLogin = Effect.fnUntraced(function* (request: Request) {
      const onward = { device: queryOf(request, "device"), request: queryOf(request, "request") }
      const who = yield* visitor(request)
      if (who === undefined) return pageReply(request, loginPage(onward, yield* directory.hasSso))
      return onward.device === undefined && onward.request === undefined
        ? pageReply(request, loggedInPage(who.account.email))
        : goTo(request, pageAfter(onward))
    })

    const sendCode = Effect.fnUntraced(function* (request: Request) {
      const { email, ...onward } = yield* readForm(EmailForm, request, origin(request))
      yield* admitAddress(request)
      yield* mailLogin.request(email, mayAskFor(request, email))
      return pageReply(request, codePage(onward, email))
    })

    const enterCode = Effect.fnUntraced(function* (request: Request) {
      const { email, code, ...onward } = yield* readForm(CodeForm, request, origin(request))
      yield* admitAddress(request)
      const verified = yield* mailLogin.verify(email, code).pipe(orMessage(wrongCode))
      if (verified._tag === "Refused") return pageReply(request, codePage(onward, email, verified.why), verified.status)
      return withSession(goTo(request, pageAfter(onward)), yield* logins.browserToken(verified.value), origin(request))
    })

    const chooseOrg = Effect.fnUntraced(function* (request: Request) {
      const { org, ...onward } = yield* readForm(OrgForm, request, origin(request))
      yield* admitAddress(request)
      if ((yield* tenants.sso(org.trim())) === undefined) {
        return pageReply(
          request,
          loginPage(onward, true, "The organisation does not exist or has no login of its own."),
          404,
        )
      }
      const query = new URLSearchParams({ org: org.trim(), ...onward })
      return pageReply(request, onwardPage(`${rootOf(request)}v1/auth/sso/start?${query}`))
    })

    const logOut = Effect.fnUntraced(function* (request: Request) {
      yield* readForm(EmptyForm, request, origin(request))
      const who = yield* visitor(request)
      if (who !== undefined) yield* logins.endById(who.loginId)
      return withoutSession(goTo(request, "/login"), origin(request))
    })

    const showActivate = Effect.fnUntraced(function* (request: Request) {
      const code = queryOf(request, "code") ?? ""
      const who = yield* visitor(request)
      if (who === undefined) return goTo(request, `/login?device=${encodeURIComponent(code)}`)
      if (code === "") return pageReply(request, userCodePage())
      yield* admitAddress(request)
      const device = yield* devices.pending(code)
      if (device === undefined) return pageReply(request, userCodePage(noSuchCode), 404)
      return pageReply(request, decisionPage(device, who.account.email))
    })

    const decide = Effect.fnUntraced(function* (request: Request) {
      const { userCode, decision } = yield* readForm(DecisionForm, request, origin(request))
      yield* admitAddress(request)
      const who = yield* visitor(request)
      if (who === undefined) return goTo(request, `/login?device=${encodeURIComponent(userCode)}`)
      const approve = decision === "approve"
      const decided = yield* devices
        .decide(userCode, { userId: who.account.id, orgId: who.orgId }, approve)
        .pipe(orMessage({ not_found: noSuchCode }))
      if (decided._tag === "Refused") return pageReply(request, userCodePage(decided.why), decided.status)
      return pageReply(request, decidedPage(approve))
    })

    const confirmLink = Effect.fnUntraced(function* (request: Request) {
      const { linkToken, code } = yield* readForm(LinkForm, request, origin(request))
      yield* admitAddress(request)
      const confirmed = yield* sso.confirm(linkToken, code).pipe(orMessage(wrongCode))
      if (confirmed._tag === "Refused") return pageReply(request, linkPage(linkToken, confirmed.why), confirmed.status)
      const elsewhere = backEndUrl(confirmed.value)
      if (elsewhere !== undefined) return pageReply(request, onwardPage(elsewhere))
      const token = yield* logins.browserToken(yield* sso.exchange(confirmed.value.code))
      return withSession(goTo(request, ownPage(confirmed.value)), token, origin(request))
    })

    const showLink = (request: Request) =>
      Effect.succeed(pageReply(request, linkPage(queryOf(request, "linkToken") ?? "")))

    yield* router.add("GET", "/login", (request) => respondPage(request, showLogin(request)))
    yield* router.add("POST", "/login", (request) => respondPage(request, sendCode(request)))
    yield* router.add("POST", "/login/code", (request) => respondPage(request, enterCode(request)))
    yield* router.add("POST", "/login/sso", (request) => respondPage(request, chooseOrg(request)))
    yield* router.add("POST", "/logout", (request) => respondPage(request, logOut(request)))
    yield* router.add("GET", "/activate", (request) => respondPage(request, showActivate(request)))
    yield* router.add("POST", "/activate", (request) => respondPage(request, decide(request)))
    yield* router.add("GET", "/auth/sso/link", (request) => respondPage(request, showLink(request)))
    yield* router.add("POST", "/auth/sso/link", (request) => respondPage(request, confirmLink(request)))
  }),
)

const noSuchCode = "This code does not exist, has expired, or was already used."

/** Refusals after which the same page is shown again, with their text. */
const wrongCode = {
  otp_invalid: "This code is wrong or has expired.",
  otp_rate_limited: "Too many wrong codes. Request another one, or wait an hour.",
}

type Messages = { readonly [code in ErrorCode]?: string }

/** Turns refusals with these codes into values with their text. */
const orMessage =
  (messages: Messages) =>
  <A, E extends RouteError, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catch(
      Effect.map(effect, (value) => ({ _tag: "Done", value }) as const),
      (error) => {
        const why = error._tag === "ServiceError" ? messages[error.code] : undefined
        return why === undefined || error._tag !== "ServiceError"
          ? Effect.fail(error)
          : Effect.succeed({ _tag: "Refused", why, status: errorStatus[error.code] } as const)
      },
    )

const queryOf = (request: Request, name: string): string | undefined =>
  URL.parse(request.url, "http://localhost")?.searchParams.get(name) ?? undefined
