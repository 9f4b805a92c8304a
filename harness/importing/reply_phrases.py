"""What replies in ten languages say of a block: that it corrects another, is left out of the answer, or is shown only.

Chinese, Japanese and Korean put no blanks between words: theirs stand without `\\b`.
"""

import re

LEFT_OUT = re.compile(
    # English
    r"\b(?:optional(?:ly)?|bonus|not (?:a )?part of (?:the|my|this)|this is not (?:needed|required|submitted)|"
    r"if you (?:(?:would|'d|ever|really|also|later|do) )*(?:want|need|prefer|like|care)|if you're curious|"
    r"as an? (?:aside|exercise|extension|illustration|experiment)|(?:just|merely|only) (?:for|an?) (?:fun|aside|"
    r"illustration)|"
    r"(?:would|could|might|can) go (?:here|there|in)|where (?:it|that|this|they|one) (?:would|could) go|"
    r"going further|out of scope|future (?:work|extensions?|improvements?)|"
    r"(?:possible|potential|further) (?:extensions?|improvements?|optimi[sz]ations?|enhancements?)|"
    r"i (?:would not|wouldn't|do not|don't|did not|didn't) (?:recommend|submit|suggest) (?:it|this|that|them)|"
    r"for (?:completeness|illustration|the curious|reference only)|only mention\w*)\b|"
    # German
    r"\b(?:nicht (?:\w{1,12} ){0,2}(?:teil|bestandteil|empfehle\w*|empfohlen|abgegeben)|"
    r"(?:falls|wenn|wer) (?:du|sie|man|jemand|ihr)? ?(?:\w{1,20} ){0,4}(?:möchte\w*|will\w*|brauch\w*|bevorzug\w*|"
    r"benötig\w*)|"
    r"nur am rande|der vollständigkeit halber|mögliche erweiterung\w*|ausblick)\b|"
    # French
    r"\b(?:optionnel\w*|facultati\w*|(?:pas|point) (?:\w{1,12} ){0,2}(?:partie|recommand\w*)|"
    r"si (?:vous|tu|on) (?:(?:en|le|la) )?(?:voul\w*|veu\w*|préfér\w*|souhait\w*|avez besoin|as besoin)|en aparté|"
    r"pour aller plus loin|à titre (?:indicatif|d'illustration)|(?:améliorations?|extensions?) possibles?)\b|"
    # Spanish, Portuguese, Italian
    r"\b(?:opcional\w*|opzional\w*|facoltativ\w*|"
    r"(?:no|não|non) (?:es|forma|forman|faz|fazem|fa|fanno|è) (?:\w{1,12} ){0,2}parte|"
    r"(?:no|não|non) (?:\w{1,6} )?(?:recomiendo|recomendo|raccomando|consiglio)|"
    r"si (?:quieres|quiere|prefieres|prefiere|necesitas|necesita|desea\w*)|se (?:quiser|você quiser|preferir|precisar)|"
    r"se (?:vuoi|preferisci|serve|si vuole|vi serve|ti serve)|(?:mejoras?|extensiones) posibles?|"
    r"(?:melhorias?|extens(?:ão|ões)) poss(?:ível|íveis)|possibili (?:estensioni|miglioramenti))\b|"
    # Russian
    r"\b(?:необязательн\w*|опциональн\w*|по желанию|если (?:вы |вам |тебе )?(?:хот\w+|хоч\w+|нужн\w+|понадоб\w+|"
    r"предпоч\w+)|"
    r"не (?:\w{1,12} )?(?:входит|входят|является частью|нужно оценивать|рекомендую|обязательно)|"
    r"(?:возможн\w+|дальнейш\w+) (?:улучшени\w+|расширени\w+))|"
    # Chinese, Japanese, Korean
    r"可选|选做|非必需|不是必需|不属于|不是.{0,8}(?:一部分|提交|答案)|如果(?:你|您)?(?:以后|将来)?(?:需要|想|希望|"
    r"喜欢)|不推荐|不建议|仅作(?:说明|演示)|"
    r"任意です|オプション|必須ではありません|提出物(?:では|に(?:は)?含)|含まれません|含みません|必要(?:な|で)(?:場合|"
    r"あれば)|お勧めしません|"
    r"推奨しません|今後の(?:拡張|改善)|"
    r"선택\s?사항|필수(?:가|는)? 아|포함되지 않|제출(?:물|용)(?:이|은|에)? ?(?:아|포함)|원하(?:시|신)?(?:면|다면)|"
    r"필요(?:하|한)(?:면|다면|시면|경우)|"
    r"권장하지 않|추천하지 않",
    re.IGNORECASE,
)
"""A block is left to the reader, or said to be no part of the answer."""

CORRECTS = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|wrong|mistakes?|typos?|oops|sorry|correct(?:ed|ion|s|ing)?|incorrect|must|have to|"
    r"has to|"
    r"needs? to|required to|mandatory|important|final|crash\w*|fails?|broken|otherwise|not optional|"
    r"(?:i|we) (?:submit|recommend|suggest)|my (?:answer|submission) is)\b|"
    r"\b(?:fehler\w*|korrigier\w*|korrektur\w*|muss|müssen|falsch|endgültig\w*|wichtig|nicht optional|"
    r"erreurs?|corrig\w*|correction|doit|devez|faux|fausse|important|pas (?:optionnel|facultati)\w*|"
    r"error(?:es)?|correc\w*|debe\w*|incorrect\w*|equivoc\w*|erros?|deve\w*|errat\w*|errori|errore|correg\w*|"
    r"corre\w*ão|"
    r"ошибк\w*|исправ\w*|должн\w*|нужно замен\w*|необходимо|неверн\w*)\b|"
    r"错误|有误|修正|修复|更正|必须|必要なのは|誤り|間違|訂正|必ず|バグ|오류|버그|수정|고쳐|반드시|잘못",
    re.IGNORECASE,
)
"""Something is to be put right, or is the answer itself."""

SHOWN_ONLY = re.compile(
    r"\b(?:for (?:comparison|contrast|reference)|zum vergleich|nur zur (?:referenz|veranschaulichung)|"
    r"pour (?:comparaison|comparer|référence)|à titre (?:de comparaison|indicatif)|para (?:comparar|comparação|"
    r"comparación|referencia)|"
    r"a titolo (?:di confronto|di paragone|informativo)|per (?:confronto|riferimento)|для (?:сравнения|справки))\b|"
    r"对比|仅供参考|供参考|参考までに|比較のため|参考用|참고용|비교용|비교를 위해|참고로|"
    r"\b(?:do not|don't|not to be|never) (?:use|submit|grade)|"
    r"\bnot (?:used|the answer|my answer|submitted|part of (?:the|my|this) (?:answer|submission))\b|"
    r"\b(?:nicht (?:abgeben|bewerten|verwenden|benutzen|teil der)|ne pas (?:utiliser|évaluer|noter)|"
    r"(?:no|não) (?:usar|use|utilizar|evaluar|avaliar|calificar)|(?:da )?non (?:usare|utilizzare|valutare)|"
    r"не (?:использ\w+|нужно оценивать|оценивать|является ответом))\b|"
    r"不要使用|请勿使用|不用于提交|使わないで|使用しないで|사용하지 마",
    re.IGNORECASE,
)
"""A block is shown, and not submitted."""

WRONG_WAY = re.compile(
    r"\b(?:(?:common|typical|frequent|classic) (?:mistake|error|pitfall|bug)s?|anti-?patterns?|how not to|"
    r"häufiger? fehler|erreurs? (?:courantes?|fréquentes?|classiques?)|error(?:es)? (?:común|comunes|frecuentes?|"
    r"típicos?)|"
    r"erros? comu(?:m|ns)|error[ei] comun[ei]|(?:частая|типичная|распространённая) ошибка)\b|"
    r"常见(?:的)?错误|よくある(?:間違い|誤り|ミス)|흔한 (?:실수|오류)",
    re.IGNORECASE,
)
"""A block shows how it is not to be done."""

REPLACES = re.compile(
    r"\b(?:replac\w*|chang\w*|updat\w*|fix\w*|correct\w*|patch\w*|swap\w*|amend\w*|adjust\w*|revis\w*|modif\w*|"
    r"rewrit\w*|should (?:be|read|become)|instead|becomes?|new version|only (?:the|this)|apply|edit)\b|"
    r"\b(?:ersetz|korrig|änder|reempla|correg|corrig|remplac|substitu|sostitu|corre[çz]|aggiorn|замен|исправ|измен)\w*|"
    r"替换|修改|修正|改为|改成|更正|置き換え|差し替え|修正|訂正|変更|바꾸|교체|수정|변경|대체|"
    r"^\W*(?:after|now|nachher|después|depois|dopo|après|после)\W*$",
    re.IGNORECASE,
)
"""A block replaces something."""

REVISES = re.compile(
    r"\b(?:fix\w*|correct\w*|final\w*|updat\w*|improv\w*|replac\w*|better|best|optimi[sz]ed|faster|instead|new|"
    r"complete\w*|"
    r"full\w*|whole|entire|again|everything|together|revis\w*|rewr\w*|redo\w*|redone|clean\w*|polish\w*|actual(?:ly)?|"
    r"answer|"
    r"submission|solution|implementation|wait|hmm|oops|sorry|issue|problem|bug|mistake|wrong|v[2-9]|second (?:attempt|"
    r"try)|"
    r"mended|amended|adjust\w*|chang\w*|robust|refin\w*|refactor\w*|now)\b|"
    r"\b(?:korrig\w*|korrekt\w*|endgültig\w*|vollständig\w*|fehler\w*|verbesser\w*|überarbeit\w*|neu\w*|jetzt|"
    r"nochmal\w*|fertig\w*|"
    r"corrig\w*|correg\w*|correct\w*|complet\w*|compl[eè]t\w*|finale?\w*|nouvel\w*|nueva\w*|nova\w*|nuova\w*|mejor\w*|"
    r"melhor\w*|"
    r"miglior\w*|amélior\w*|erreur\w*|error\w*|erro\w*|actualiz\w*|atualiz\w*|aggiorn\w*|definitiv\w*|"
    r"исправ\w*|полн\w*|окончательн\w*|итогов\w*|ошибк\w*|улучш\w*|нов\w*|теперь|целиком)\b|"
    r"最终|完整|修正|修复|改进|更新|更正|最終|完全|全文|訂正|改善|完成|誤り|최종|전체|수정|완성|개선|오류",
    re.IGNORECASE,
)
"""A whole version takes the place of one before it."""

PUTS_RIGHT = re.compile(
    r"\b(?:typo|correction|erratum|korrektur|korrigier\w*|ersetz\w*|muss|müsste|tippfehler|correction|corrig\w*|"
    r"remplac\w*|doit|"
    r"corrección|correg\w*|reempla\w*|debe\w*|correção|substitu\w*|deve\w*|correzione|corregg\w*|sostitu\w*|"
    r"исправ\w*|замен\w*|должн\w*|опечатк\w*)\b|更正|改为|改成|替换|修正|訂正|置き換え|誤り|수정|바꾸|바꿔|고쳐|정정|"
    r"오타",
    re.IGNORECASE,
)
"""A sentence puts a piece of code right."""

SIMPLER = re.compile(
    r"\b(?:na[iï]v\w*|simpler|simplest|plain version|toy|textbook|brute[- ]force|einfacher\w*|schlichte\w*|"
    r"zum verständnis|"
    r"plus simple|(?:más|mas) (?:simple|sencill\w+)|mais simples|più semplice|ingenu\w+|ingênu\w+|ingénu\w+|"
    r"наивн\w+|упрощ\w+|простейш\w+|попроще)\b|朴素|简单版|更简单|素朴|単純な|簡易版|단순한|더 간단|간단한 버전",
    re.IGNORECASE,
)
"""A version is a plain one, which may be shown only to explain another."""
