/** Sends mail by SMTP. In development without a server, mail is printed. */
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { isDevelopment, WeirConfig } from "../config.ts"

export interface Mail {
  readonly to: string | ReadonlyArray<string>
  /** The message id, the same for the same mail, so that a mail that is sent twice is seen as one. RFC 5322 section 3.6.4. */
  readonly id?: string
  readonly subject: string
  readonly text: string
}

export class MailFailed extends Data.TaggedError("MailFailed")<{ readonly cause: unknown }> {}

export class Mailer extends Context.Service<
  Mailer,
  {
    /** Undefined if mail cannot be sent. */
    readonly send: ((mail: Mail) => Effect.Effect<void, MailFailed>) | undefined
  }
>()("weir/identity/Mailer") {
  static readonly layer = Layer.effect(
    Mailer,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const { smtpUrl, mailFrom } = config
      if (smtpUrl === undefined) return { send: isDevelopment(config) ? print : undefined }
      // Loaded where mail is sent: a start without it is shorter.
      const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
      const transport = yield* Effect.acquireRelease(
        Effect.sync(() => createTransport({ url: Redacted.value(smtpUrl), pool: true, ...timeouts })),
        (open) => Effect.sync(() => open.close()),
      )
      return {
        send: ({ to, id, subject, text }) =>
          Effect.asVoid(
            Effect.tryPromise({
              try: () =>
                transport.sendMail({
                  from: mailFrom,
                  to: [to].flat().map((address) => ({ name: "", address })),
                  ...(id !== undefined && { messageId: id }),
                  subject,
                  text,
                }),
              catch: (cause) => new MailFailed({ cause }),
            }),
          ),
      }
    }),
  )
}

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }

const print = ({ to, text }: Mail) => Effect.logInfo(`Mail to ${[to].flat().join(", ")} (development only): ${text}`)
