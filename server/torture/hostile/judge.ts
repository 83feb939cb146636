import { checkResponse } from '../../test/support/openapi-check.ts';
import { NoAnswer, parseAnswers, type RawAnswer } from '../support/raw-responses.ts';
import { type Exchange, hiddenId, type Shot } from './shot.ts';

/** What came of a connection. */
export type Outcome = { bytes: Buffer; millis: number; isLate: boolean };

export type Judgement = {
  /** What should not have been, each with the shot it is about. */
  faults: string[];
  answers: RawAnswer[];
};

/** Holds what came over a connection against what had to. */
export function judge(exchange: Exchange, { bytes, isLate }: Outcome): Judgement {
  const { shots } = exchange;
  const faults: string[] = [];
  if (isLate) faults.push('the connection hangs');
  let parsed: ReturnType<typeof parseAnswers>;
  try {
    // What is no HTTP is refused with a body, whatever its method seems to be.
    const isToHead = (index: number, headers: Record<string, string>) =>
      shots[index]?.method === 'HEAD' && isOwn(shots[index], headers);
    parsed = parseAnswers(bytes, isToHead, true);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { faults: [...faults, `bytes that are no answer: ${error.message}`], answers: [] };
  }
  const { answers: responses, rest } = parsed;
  if (rest.length > 0 && !isOwedLess(exchange)) faults.push(`an answer is cut: ${rest.toString('latin1', 0, 200)}`);
  if (responses.length > shots.length) faults.push(`${responses.length} answers to ${shots.length} requests`);
  let isOver = false;
  for (const [index, shot] of shots.entries()) {
    const response = responses[index];
    const tell = (fault: string) => {
      const said = response && `; it said ${response.status} ${response.body.toString('utf8', 0, 200)}`;
      faults.push(`${shot.about}: ${fault}: ${shot.bytes.toString('latin1', 0, 300)}${said ?? ''}`);
    };
    if (response === undefined) {
      if (!isOver && !isOwedLess(exchange)) tell('no answer');
      break;
    }
    if (isOver) tell('answered after the connection was over');
    isOver = judgeAnswer(shot, response, index === shots.length - 1, tell);
  }
  return { faults, answers: responses };
}

/** True where nothing may be answered after this. */
function judgeAnswer(shot: Shot, response: RawAnswer, isLast: boolean, tell: (fault: string) => void): boolean {
  const { status, headers } = response;
  if (status >= 500) tell('a fault of ours');
  if (headers['x-request-id'] === hiddenId) tell('a hidden request was answered');
  const isAnswered = isOwn(shot, headers);
  const wrong = isAnswered ? shot.wrong?.(response) : undefined;
  if (wrong !== undefined) tell(wrong);
  if (isAnswered && shot.fate === 'refused') tell('answered, though it is no HTTP');
  if (!isAnswered && shot.fate === 'answered') tell('refused, or answered as another');
  if (!isAnswered && ![400, 405, 408, 431].includes(status)) tell(`refused with ${status}`);
  const closes = headers.connection === 'close';
  if (!isAnswered && !closes) tell('refused, and the connection goes on');
  if (isAnswered && closes && shot.fate === 'answered' && !isLast) tell('the connection ends, though it need not');
  const text = response.body.toString();
  try {
    const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
    const body = isJson ? JSON.parse(text) : undefined;
    checkResponse(isAnswered ? shot.method : 'the parser', isAnswered ? shot.path : '', {
      status,
      headers,
      text,
      body,
    });
  } catch (error) {
    tell((error as Error).message.split('\n')[0] ?? '');
  }
  return closes || shot.fate === 'refused' || shot.fate === 'ends';
}

/**
 * A client that closes its side gives up what it has not got yet. So does one that goes on sending after a request that
 * ends the connection: what comes in on a closed connection resets it.
 */
function isOwedLess({ shots, end, pace }: Exchange): boolean {
  const isEnded = shots.slice(0, -1).some(({ fate }) => fate !== 'answered');
  const isOneRead = pace === 'whole' && shots.reduce((sum, shot) => sum + shot.bytes.length, 0) < 60_000;
  return end !== 'asked' || (isEnded && !isOneRead);
}

/** Answered as a request. A request without a sane id gets a new one, as what is refused does. */
function isOwn({ id }: Shot, headers: Record<string, string>): boolean {
  return id === undefined ? headers.connection !== 'close' : headers['x-request-id'] === id;
}
