import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { limits } from '../../contract/limits.ts';
import { asError } from '../../domain/errors.ts';
import { statusOf } from '../request/errors.ts';
import { requireValid } from '../request/query.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { Dependencies } from '../route-types.ts';
import { type AgentCaller, notice, quote, type Tool, type ToolCall, type ToolResult } from './tool.ts';
import { toolsFor } from './tools.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The tool that an agent called. */
    tool: string | null;
  }
}

/** The result of a call in the form of the protocol. */
export type CalledTool =
  | { content: TextContent[]; structuredContent: ToolResult }
  | { content: TextContent[]; isError: true };
type TextContent = { type: 'text'; text: string };

/** One request of an agent: the tools that its key allows. */
export class Agent {
  readonly #dependencies: Dependencies;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #caller: AgentCaller;
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(dependencies: Dependencies, request: FastifyRequest, reply: FastifyReply, caller: AgentCaller) {
    this.#dependencies = dependencies;
    this.#request = request;
    this.#reply = reply;
    this.#caller = caller;
    this.#tools = new Map(toolsFor(caller).map((tool) => [tool.name, tool]));
  }

  /** The tools in the form of the protocol. */
  listTools() {
    const { kind } = this.#caller;
    return [...this.#tools.values()].map(({ name, title, description, isWrite, inputOf, outputOf }) => ({
      name,
      title,
      description,
      inputSchema: withoutOwnFormats(inputOf(kind)),
      outputSchema: withoutOwnFormats(outputOf(kind)),
      annotations: {
        title,
        readOnlyHint: !isWrite,
        destructiveHint: isWrite,
        idempotentHint: true,
        openWorldHint: false,
      },
    }));
  }

  /** Undefined if the key allows no such tool. An error of the domain is a result. */
  async callTool(name: string, given: Record<string, unknown> = {}): Promise<CalledTool | undefined> {
    const tool = this.#tools.get(name);
    if (tool === undefined) return undefined;
    this.#request.tool = name;
    try {
      const result = await this.#run(tool, given);
      this.#dependencies.metrics.countEvent('tools', `${name} 200`);
      return { content: [{ type: 'text', text: summaryOf(tool, result) }], structuredContent: result };
    } catch (error) {
      const { errors, metrics } = this.#dependencies;
      const { code, message } = errors.report(asError(error), this.#request.id, this.#reply.raw);
      const status = statusOf(code);
      metrics.countEvent('tools', `${name} ${status}`);
      // As text: structured content has the output schema of the tool, and clients validate that of errors, too.
      return { content: [{ type: 'text', text: JSON.stringify({ status, code, message }) }], isError: true };
    }
  }

  async #run(tool: Tool, given: Record<string, unknown>): Promise<ToolResult> {
    const caller = this.#caller;
    if (tool.isWrite) this.#dependencies.bearer.countWrite(caller, this.#reply.raw);
    // An optional argument that is empty counts as absent, as in a query.
    const filled = tool.isWrite ? given : Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    const { text_offset, ...own } = requireValid(tool.inputOf(caller.kind), filled) as { text_offset?: number };
    const call: ToolCall = {
      dependencies: this.#dependencies,
      caller,
      disconnected: () => onDisconnect(this.#reply.raw),
      now: Math.floor(this.#dependencies.clock() / 1000),
    };
    const result = await tool.run(own as never, call);
    const { reads } = this.#dependencies;
    if (reads.has(tool.operation)) reads.note(tool.operation, caller.key_id, own, call.now);
    return quote(result, text_offset);
  }
}

/** Clients that validate results do not know the formats of this service, and would warn of them. */
const withoutOwnFormats = (schema: TObject): object =>
  JSON.parse(JSON.stringify(schema, (name, value) => (name === 'format' && value === 'decimal' ? undefined : value)));

/** A short text in addition to the result, for people and for clients that show no more. */
function summaryOf({ title }: Tool, { data, has_more, truncated, next_text_offset }: ToolResult): string {
  const rows = Array.isArray(data) ? `: ${data.length} ${data.length === 1 ? 'row' : 'rows'}` : '';
  const more = has_more ? ', more follow' : '';
  const cut = truncated
    ? ` Texts were cut after ${limits.toolTextUnitsMax} characters: text_offset=${next_text_offset} continues them.`
    : '';
  return `${title}${rows}${more}.${cut} ${notice}`;
}
