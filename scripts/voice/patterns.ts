/**
 * Forms of a private grammar that a reader of English stumbles over, each with what to write instead.
 * The list finds the commonest forms only: read aloud what you write.
 */

/** A form, and what replaces it. */
export interface Pattern {
  readonly name: string;
  readonly form: RegExp;
  readonly instead: string;
}

const PATTERNS: readonly Pattern[] = [
  {
    name: 'clause as subject (what)',
    form: /(?:^|[:;,] )(?:[Aa]nd |[Bb]ut )?[Ww]hat (?!is the|are the|it does|happens?\b|to\b)[a-z' ]+ (?:is|are|was|were|has|have|goes|stays?|waits|ends|comes|does|gets|counts|needs|must|may|can)\b/,
    instead: 'Name the thing: "queued notifications are cancelled".',
  },
  {
    name: 'clause as subject (who, those that)',
    form: /(?:^|[.;:] )(?:Who|Whoever|Those that|Those who|That which|Whatever) [a-z]/,
    instead: 'Name the person: user, caller, member, operator, owner.',
  },
  {
    name: 'fronted Of',
    form: /^(?:Of|In place of|For want of) (?!course)/,
    instead: 'Begin with the subject: "each party may run a few calls".',
  },
  {
    name: 'postposed bound',
    form: /\d [a-z]+ at (?:most|least)\b|[a-z]s at most[.,]|\b(?:at most|at least)$/,
    instead: 'Put the bound first: "at most 5 s".',
  },
  {
    name: 'so often, so long',
    form: /\bso (?:long|many|often|few|much)\b(?! as)(?! that)/,
    instead: 'Give the number or the interval: "every 5 s".',
  },
  {
    name: 'nobody, somebody',
    form: /\b(?:some|no|every)body\b/,
    instead: 'Name the person, or use the passive.',
  },
  {
    name: 'come, go on, stand, lie',
    form: /\b(?:goes on|go on|went on|stands? (?:in|at|beside|still)|lies? (?:in|at)|comes? (?:in|of|from|with|back|after|next|later)|has come|have come|are gone|is gone|keeps? back|taken? back)\b/,
    instead: "Use the field's verb: continue, arrive, return, store, drop.",
  },
  {
    name: 'is waited for',
    form: /\b(?:is|are|was|were|be|been) (?:waited|asked|looked|listened|cared|dealt|spoken) (?:for|at|to|with|of|into)\b/,
    instead: 'Use an active verb, or the passive of a plain one: "is rejected".',
  },
  {
    name: 'is none, is said',
    form: /\b(?:is|are|was) (?:none|one|said)\b[.,;:]?$|\bis no [a-z]+[.;]?$/,
    instead: 'State it: "there is no answer", "the error says why".',
  },
];

/** The form that a sentence has, if it has one. */
export function patternOf(sentence: string): Pattern | undefined {
  return PATTERNS.find(({ form }) => form.test(sentence));
}
