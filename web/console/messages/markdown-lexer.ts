import { Lexer, type Token, type TokensList } from 'marked';
import type { FormulaToken } from '../../shared/markdown-elements.tsx';

/*
 * Some rules of the lexer take time in the square of a text's length, and each level of nesting takes stack. Anyone with
 * a writer key may send any text. Three limits bound the work: a long text is read in parts, a paragraph with very many
 * marks is read in pieces, and what is nested deeper than people write is text.
 */
const partUnits = 20_000;
const pieceUnits = 500;
/** Length times number of marks: a page of prose with a link in every line stays below. */
const costMax = 1_000_000;
const blockDepthMax = 10;
const inlineDepthMax = 16;

/** Characters at which an inline rule begins to search. */
const marks = /[\\<!&[\]`*~_@|$]| {2}|www\.|:\/\//g;

/**
 * A formula between `$` or `$$`, or as `\(x\)` or `\[ x \]`. An amount is none: `$5 to $10` has a space or a digit where a
 * formula has its own text. `\[1\]` is none either: these are brackets that mean no link.
 */
const formula =
  /^\$\$([^$]+)\$\$|^\$(?=[^\s$])([^$\n]*[^$\s\\])\$(?![\d\p{L}])|^\\\(([^\n]+?)\\\)|^\\\[(\s[\s\S]+?\s)\\\]/u;

function formulaAt(src: string): FormulaToken | undefined {
  const [raw, ...texts] = formula.exec(src) ?? [];
  return raw === undefined ? undefined : { type: 'formula', raw, text: texts.join('').trim() };
}

const options = {
  gfm: true,
  breaks: true,
  extensions: {
    renderers: {},
    childTokens: {},
    inline: [formulaAt],
    // End of the text before a formula.
    startInline: [(src: string) => /(?<![\w$])\$/.exec(src)?.index],
  },
};

class BoundedLexer extends Lexer {
  #blockDepth = 0;
  #inlineDepth = 0;

  override blockTokens(src: string, tokens: Token[] = [], isParagraphClipped?: boolean): TokensList {
    this.#blockDepth += 1;
    if (this.#blockDepth > blockDepthMax) pushText(tokens, src);
    else super.blockTokens(src, tokens, isParagraphClipped);
    this.#blockDepth -= 1;
    return tokens as TokensList;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    this.#inlineDepth += 1;
    if (this.#inlineDepth > inlineDepthMax) pushText(tokens, src);
    else for (const piece of isCostly(src) ? piecesOf(src) : [src]) super.inlineTokens(piece, tokens);
    this.#inlineDepth -= 1;
    return tokens;
  }
}

function pushText(tokens: Token[], text: string): void {
  tokens.push({ type: 'text', raw: text, text });
}

const isCostly = (src: string): boolean =>
  src.length > pieceUnits && src.length * (src.match(marks)?.length ?? 0) > costMax;

/** Cut after a space where there is one. */
const piecesOf = (src: string): string[] =>
  src.match(new RegExp(`[^]{1,${pieceUnits}}(?:\\s|$)|[^]{1,${pieceUnits}}`, 'gu')) ?? [];

/** Markdown as tokens, in time proportional to the length of the text. */
export function tokensOf(text: string): Token[] {
  return partsOf(text).flatMap((part): Token[] => new BoundedLexer(options).lex(part));
}

/** Parts of a long text: cut at an empty line if one is near, else at a line's end. A code block that is cut is opened again. */
function partsOf(text: string): string[] {
  if (text.length <= partUnits) return [text];
  const parts: string[] = [];
  let part = '';
  let fence: { line: string; mark: string } | undefined;
  for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    part += line;
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = { line, mark };
    else if (fence !== undefined && mark?.startsWith(fence.mark)) fence = undefined;
    if (part.length < partUnits || (line.trim() !== '' && part.length < 1.5 * partUnits)) continue;
    parts.push(part);
    part = fence?.line ?? '';
  }
  return [...parts, part];
}
