/** Describes wrong arguments of a command: the missing ones with their meaning, and an example. */
import { Option } from "effect"
import type { CliError, CliOutput, HelpDoc } from "effect/cli"

export const describeWrongArguments = ({ errors, helpDoc }: CliOutput.Presenter.InvalidInvocation): string =>
  errors.map((error) => describeError(error, helpDoc)).join("\n")

const describeError = (error: CliError.NonShowHelpErrors, help: HelpDoc.HelpDoc): string => {
  if (error._tag === "MissingOption") {
    const flag = help.flags.find(({ name }) => name === error.option)
    return missing(`--${error.option}`, flag?.description, exampleOf(help, `--${error.option} `))
  }
  if (error._tag === "MissingArgument") {
    const argument = help.args?.find(({ name }) => name === error.argument)
    return missing(error.argument, argument?.description, exampleOf(help, ""))
  }
  return error.message.replace(control, "\ufffd")
}

/** Characters that command a terminal: a wrong argument may have them. */
const control = /[^\P{Cc}\n]/gu

const missing = (name: string, meaning: Option.Option<string> | undefined, example: string | undefined): string =>
  [
    `${name} is missing${meaning === undefined || Option.isNone(meaning) ? "" : `: ${meaning.value.replace(/\.$/, "")}`}`,
    ...(example === undefined ? [] : [`For example: ${example}`]),
  ].join("\n")

/** The first example of the command that has a text. */
const exampleOf = ({ examples = [] }: HelpDoc.HelpDoc, text: string): string | undefined =>
  examples.find(({ command }) => command.includes(text))?.command
