/** Applies the chosen theme before the first paint. A classic script, because modules run later. */
import { applyTheme, readTheme } from './layout/theme-choice.ts';

applyTheme(readTheme());
