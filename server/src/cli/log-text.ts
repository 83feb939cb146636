import { visible } from './output.ts';

const levels: Readonly<Record<number, string>> = { 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' };

type Line = { level: number; time: string; msg?: string; err?: { stack?: string } } & Record<string, unknown>;

/** Lines of the log, which are JSON, as lines for a person at a terminal. */
export const logText = (lines: string): string => lines.replaceAll(/.+\n?/g, (line) => lineText(JSON.parse(line)));

/** `12:11:03 GET /v1/messages 200 0.7 ms 5f1c…`, with the id of the request, or a message with its fields. An error has its stack on the lines below. */
function lineText({ level, time, msg = '', err, ...fields }: Line): string {
  // The other workers listen at the same address.
  if (msg.startsWith('listening at') && 'worker' in fields) return '';
  const text = msg === 'request' && 'route' in fields ? requestText(fields) : `${visible(msg)}${fieldsText(fields)}`;
  const stack = err?.stack?.split('\n').map((line) => `\n  ${visible(line)}`) ?? [];
  return `${new Date(time).toTimeString().slice(0, 8)} ${levels[level] ?? ''}${text}${stack.join('')}\n`;
}

function requestText({ method, route, status, ms, error, message, aborted, req_id }: Record<string, unknown>): string {
  const rounded = Number(ms) < 10 ? Number(ms).toFixed(1) : Math.round(Number(ms));
  const cause = message === undefined ? '' : ` ${error === undefined ? '' : `${error}: `}${message}`;
  return visible(`${method} ${route} ${status} ${rounded} ms${cause}${aborted ? ' (aborted)' : ''} ${req_id}`);
}

const fieldsText = (fields: Record<string, unknown>): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${visible(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('');
