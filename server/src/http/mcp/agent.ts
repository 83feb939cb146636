import type { Tool as ProtocolTool } from '@modelcontextprotocol/server';
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

export type AgentRequest = {
  dependencies: Dependencies;
  request: FastifyRequest;
  reply: FastifyReply;
  caller: AgentCaller;
};

/** The tools that the key allows, in the form of the protocol. */
export const listTools = (caller: AgentCaller) =>
  toolsFor(caller).map(({ name, title, description, isWrite, inputOf, outputOf }) => ({
    name,
    title,
    description,
    inputSchema: withoutOwnFormats(inputOf(caller.kind)),
    outputSchema: withoutOwnFormats(outputOf(caller.kind)),
    annotations: {
      title,
      readOnlyHint: !isWrite,
      destructiveHint: isWrite,
      idempotentHint: true,
      openWorldHint: false,
    },
  }));

/** Undefined if the key allows no such tool. An error of the domain is a result. */
export async function callTool(
  agent: AgentRequest,
  name: string,
  input: Record<string, unknown> = {},
): Promise<CalledTool | undefined> {
  const { request, reply } = agent;
  const { errors, metrics } = agent.dependencies;
  const tool = toolsFor(agent.caller).find((one) => one.name === name);
  if (tool === undefined) return undefined;
  request.tool = name;
  try {
    const result = await run(agent, tool, input);
    metrics.countEvent('tools', `${name} 200`);
    return { content: [{ type: 'text', text: summaryOf(tool, result) }], structuredContent: result };
  } catch (error) {
    const { code, message } = errors.report(asError(error), request.id, reply.raw);
    const status = statusOf(code);
    metrics.countEvent('tools', `${name} ${status}`);
    // As text: structured content has the output schema of the tool, and clients validate that of errors, too.
    return { content: [{ type: 'text', text: JSON.stringify({ status, code, message }) }], isError: true };
  }
}

async function run(
  { dependencies, reply, caller }: AgentRequest,
  tool: Tool,
  input: Record<string, unknown>,
): Promise<ToolResult> {
  const { bearer, clock, reads, store } = dependencies;
  if (tool.isWrite) bearer.countWrite(caller, reply.raw);
  // An optional argument that is empty counts as absent, as in a query.
  const filled = tool.isWrite ? input : Object.fromEntries(Object.entries(input).filter(([, value]) => value !== ''));
  const { text_offset, ...own } = requireValid(tool.inputOf(caller.kind), filled) as { text_offset?: number };
  const now = Math.floor(clock() / 1000);
  const call: ToolCall = { store, dependencies, caller, disconnected: () => onDisconnect(reply.raw), now };
  const result = await tool.run(own, call);
  if (reads.has(tool.operation)) reads.note(tool.operation, caller.key_id, own, now);
  return quote(result, text_offset);
}

/** Clients that validate results do not know the formats of this service, and would warn of them. */
const withoutOwnFormats = (schema: TObject): ProtocolTool['inputSchema'] =>
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
