import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'fast-querystring';
import type { Static } from 'typebox';
import { MessageQuery, type PageOrder } from '../../contract/message.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import {
  isChatApp,
  listMessages,
  type MessageQuestion,
  type PageAsked,
  pageAsked,
} from '../../domain/list-messages.ts';
import type { HeldPage, MessagePage } from '../../domain/page-cache.ts';
import { RecentMap } from '../../domain/recent-map.ts';
import { bearerDigest } from '../auth/bearer.ts';
import { type Ended, type Observer, saneIdOf } from '../observe/observe.ts';
import { linkToNext, messagesPath, questionOf } from '../operations/messages.ts';
import { answerError } from '../request/errors.ts';
import { heldTags, holds, revalidate } from '../request/etag.ts';
import { validatorCompiler } from '../request/query.ts';
import type { Parts } from '../route-types.ts';
import { readLaneHeaders } from './lane-headers.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A request that this lane takes, and what is known of it. */
type Asked = {
  request: IncomingMessage;
  response: Watched;
  question: Question;
  digest: string;
  held: string | undefined;
  /** The store's, from before anything was read. */
  mark: number | undefined;
  ended: Ended;
};

/** A question as it is spelled, and the page that it is for whoever asked it last. */
type Question = MessageQuestion & { app_id: string | undefined; page: PageAsked | undefined };

const ended = Symbol('what is said of the request when its answer ends');
const unkept = Symbol('a page that nobody else holds');
type Watched = ServerResponse & { [ended]?: Ended | undefined; [unkept]?: Uint8Array };

const prefix = `${messagesPath}?`;
/** What ends a query, or belongs into none. */
const unusual = /[#;\x00-\x20\x7f-\uffff]/;
/** Questions that were asked lately, by their spelling. */
const questionsMin = 2_000;
/** Longer ones are not kept: whoever asks, also without a key, would fill the memory with them. */
const questionUnitsMax = 500;

/**
 * Answers plain requests for pages before the framework sees them, which saves more than half of what they cost. It
 * stands on the parts that the route stands on, and gives the answers that the route gives. Whatever is unusual about a
 * request or its key is left to the route: nothing has been said by then.
 */
export class FastLane {
  readonly #parts: Parts;
  readonly #pageOrder: PageOrder;
  readonly #route: Handler;
  readonly #questions = new RecentMap<Question>(questionsMin);
  readonly #readQuery = validatorCompiler({
    schema: MessageQuery,
    httpPart: 'querystring',
    method: 'GET',
    url: messagesPath,
  }) as (query: unknown) => { value?: Static<typeof MessageQuery> };
  /** One for all answers, so that none needs a function of its own. */
  readonly #closed: (this: Watched) => void;
  #isClosing = false;

  constructor(parts: Parts, observer: Observer, pageOrder: PageOrder, route: Handler) {
    this.#parts = parts;
    this.#pageOrder = pageOrder;
    this.#route = route;
    this.#closed = function () {
      if (this[ended] !== undefined) observer.ended(this[ended], this);
      if (this[unkept] !== undefined && this.writableFinished) free(this[unkept]);
    };
  }

  /** From now on everything goes to the route, which tells clients that their connection ends. */
  close(): void {
    this.#isClosing = true;
  }

  readonly handle: Handler = (request, response) => {
    const asked = this.#isClosing ? undefined : this.#read(request, response);
    if (asked === undefined) return this.#route(request, response);
    asked.response[ended] = asked.ended;
    response.on('close', this.#closed);
    try {
      const caller = this.#parts.bearer.cachedCaller(asked.digest, asked.mark);
      if (caller === undefined) void this.#identify(asked);
      else this.#admit(asked, caller);
    } catch (error) {
      this.#refuse(asked, error as Error);
    }
  };

  async #identify(asked: Asked): Promise<void> {
    try {
      const caller = await this.#parts.bearer.find(asked.digest, asked.mark);
      if (caller === undefined) this.#leave(asked);
      else this.#admit(asked, caller);
    } catch (error) {
      this.#refuse(asked, error as Error);
    }
  }

  #admit(asked: Asked, caller: Caller): void {
    const { pages, bearer } = this.#parts;
    if (caller.kind !== 'app' || !isChatApp(caller.app)) return this.#leave(asked);
    asked.ended.key_id = caller.key_id;
    bearer.admit(caller, 'GET', asked.response);
    const wanted = pageOf(asked.question, caller);
    const page = pages.current(wanted.key, asked.mark);
    if (page?.docs !== undefined || (page !== undefined && holds(asked.held, page.tag))) send(asked, page);
    else void this.#list(asked, wanted);
  }

  async #list(asked: Asked, wanted: PageAsked): Promise<void> {
    const { store, pages } = this.#parts;
    const { held, mark: dataVersion } = asked;
    try {
      send(asked, await listMessages(store, pages, wanted, heldTags(held), dataVersion));
    } catch (error) {
      this.#refuse(asked, error as Error);
    }
  }

  /** What the store or the domain has said is not asked again. */
  #refuse({ response, ended }: Asked, error: Error): void {
    if (response.headersSent) response.destroy(error);
    else answerError(response, error, ended.id, this.#parts.logger);
  }

  /** To the route, unless the client has left. */
  #leave({ request, response }: Asked): void {
    if (response.closed) return;
    response[ended] = undefined;
    this.#route(request, response);
  }

  /** Undefined for anything but a plain and valid question for a page. */
  #read(request: IncomingMessage, response: ServerResponse): Asked | undefined {
    try {
      const question = this.#questionOf(request);
      const headers = question && readLaneHeaders(request.rawHeaders);
      const digest = headers && bearerDigest(headers.authorization);
      if (question === undefined || digest === undefined) return undefined;
      const id = saneIdOf(headers?.request_id);
      const ended = { id, method: 'GET', route: messagesPath, key_id: null, start: performance.now() };
      const dataVersion = this.#parts.store.dataVersion();
      return { request, response, question, digest, held: headers?.if_none_match, mark: dataVersion, ended };
    } catch {
      return undefined;
    }
  }

  #questionOf({ method, url = '', httpVersionMinor }: IncomingMessage): Question | undefined {
    if (method !== 'GET' || httpVersionMinor !== 1 || !url.startsWith(prefix)) return undefined;
    const known = this.#questions.get(url);
    if (known !== undefined) return known;
    const query = url.slice(prefix.length);
    const read = unusual.test(query) ? undefined : this.#readQuery(parse(query)).value;
    if (read === undefined) return undefined;
    const question = { ...questionOf(read, this.#pageOrder), app_id: undefined, page: undefined };
    if (url.length <= questionUnitsMax) this.#questions.set(url, question);
    return question;
  }
}

function pageOf(question: Question, { app }: CallerOf<'app'>): PageAsked {
  if (question.page === undefined || question.app_id !== app.id) {
    question.app_id = app.id;
    question.page = pageAsked(app.id, question);
  }
  return question.page;
}

function send({ request, response, held, ended }: Asked, page: MessagePage | HeldPage): void {
  const headers = ['x-request-id', ended.id, 'etag', `"${page.tag}"`, 'cache-control', revalidate];
  if (page.docs === undefined || holds(held, page.tag)) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  if (page.next !== undefined) headers.push('link', linkToNext(messagesPath, request.url ?? '', page.next));
  const length = page.head.length + page.docs.length + page.tail.length;
  headers.push('content-type', 'application/json; charset=utf-8', 'content-length', String(length));
  response.writeHead(200, headers);
  if (page.isKept) return void response.end(page.docs);
  response[unkept] = page.docs;
  response.write(page.head, 'latin1');
  response.write(page.docs);
  response.end(page.tail, 'latin1');
}

/**
 * Gives memory back at once. Left to the garbage collector, pages read once make it walk the whole heap every few
 * hundred requests, which costs as much as reading them.
 */
function free({ buffer }: Uint8Array): void {
  (buffer as ArrayBuffer).transfer(0);
}
