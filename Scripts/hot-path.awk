# SPDX-License-Identifier: Apache-2.0
#
# Follows the main path of one disassembled function (objdump -d --no-show-raw-insn, AT&T syntax,
# x86-64) and prints what it finds there that a notification, or a reader, must not do. (P15)
#
# Variables: name (shown), allowed (regular expression of symbols that may be called), relocations
# (file: objdump -R), observers (calls of observers, through their addresses: some, any number, or
# none), once (regular expression of symbols that may be called in one place only; none if empty).
# Exit code: 0 nothing found, 1 something found, 3 not a function that can be followed.
#
# The main path is the control flow from the entry without the branches that are taken where the
# kernel has no membarrier. A branch is one of those when it follows a comparison of liburcu's flag
# with 0. To recognise them, each place (register or stack slot) is followed that holds
#     A  the flag's address,
#     V  a value that is nonzero where membarrier is in use,
#     N  a value that is nonzero where it is not;
# F is the same for the processor's zero flag. A place keeps what it holds only if it does on every
# way there.

BEGIN {
    flag = "urcu_bp_has_sys_membarrier"
    while ((getline line < relocations) > 0) {
        split(line, word, " ")
        if (index(word[3], flag) == 1) slot[canonical(word[1])] = 1
    }
    split("rax eax ax al ah rbx ebx bx bl bh rcx ecx cx cl ch rdx edx dx dl dh", word, " ")
    for (i = 1; i <= 20; i++) full[word[i]] = word[i - (i - 1) % 5]
    split("rsi esi si sil rdi edi di dil rbp ebp bp bpl rsp esp sp spl", word, " ")
    for (i = 1; i <= 16; i++) full[word[i]] = word[i - (i - 1) % 4]
    for (i = 8; i <= 15; i++) full["r" i] = full["r" i "d"] = full["r" i "w"] = full["r" i "b"] = "r" i
    count = 0
}

# An instruction: "   20c10:\tmov    (%rax),%rcx   # 37f28 <symbol>"
/^ *[0-9a-f]+:\t/ {
    address = $1
    sub(/:$/, "", address)
    text = $0
    sub(/^ *[0-9a-f]+:\t/, "", text)
    note = ""
    if (match(text, / +# /)) {
        note = substr(text, RSTART + RLENGTH)
        text = substr(text, 1, RSTART - 1)
    }
    sub(/ +$/, "", text)
    operation = text
    sub(/ .*/, "", operation)
    arguments = text
    sub(/^[^ ]+ */, "", arguments)
    number[canonical(address)] = ++count
    at[count] = address
    texts[count] = text
    operations[count] = operation
    operands[count] = arguments
    notes[count] = note
}

function canonical(hex) {
    sub(/^0x/, "", hex)
    sub(/^0+/, "", hex)
    return tolower(hex)
}

# Splits AT&T operands at the commas outside parentheses.
function divide(text, parts,    i, c, depth, n) {
    n = 1
    parts[1] = parts[2] = parts[3] = ""
    depth = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") depth++
        if (c == ")") depth--
        if (c == "," && depth == 0) n++
        else parts[n] = parts[n] c
    }
    return n
}

# The place that an operand names: a register, a stack slot, or nothing.
function place(operand) {
    if (operand ~ /^%[a-z0-9]+$/) return full[substr(operand, 2)]
    if (operand ~ /^-?(0x[0-9a-f]+)?\(%(rbp|rsp)\)$/) return operand
    return ""
}

# Returns the fact about an operand's content: A, V, N, or nothing.
function holding(operand, note, facts,    p, base) {
    p = place(operand)
    if (p != "") return fact(facts, p)
    if (operand ~ /\(%rip\)$/) {
        split(note, word, " ")
        # Through the global offset table it is the address; a copy of the flag in the program
        # itself is the value.
        if (canonical(word[1]) in slot) return "A"
        if (index(note, "<" flag "@") > 0 || index(note, "<" flag ">") > 0) return isCopied ? "V" : "A"
        return ""
    }
    if (operand ~ /^\(%[a-z0-9]+\)$/) {
        base = operand
        gsub(/[()%]/, "", base)
        if (fact(facts, full[base]) == "A") return "V"
    }
    return ""
}

# Facts are a string of " place=X" items.
function fact(facts, p,    i) {
    i = index(facts, " " p "=")
    return i == 0 ? "" : substr(facts, i + length(p) + 2, 1)
}

function without(facts, p,    i) {
    i = index(facts, " " p "=")
    return i == 0 ? facts : substr(facts, 1, i - 1) substr(facts, i + length(p) + 3)
}

function having(facts, p, what) {
    facts = without(facts, p)
    return what == "" ? facts : facts " " p "=" what
}

function common(one, other,    n, i, items, result) {
    result = ""
    n = split(one, items, " ")
    for (i = 1; i <= n; i++) if (index(other " ", " " items[i] " ") > 0) result = result " " items[i]
    return result
}

function opposite(what) { return what == "V" ? "N" : what == "N" ? "V" : "" }

# The facts after instruction `i`.
function after(i, facts,    operation, parts, n, target, what, k, items) {
    operation = operations[i]
    n = divide(operands[i], parts)
    if (operation ~ /^(nop|endbr64|j|cs$|data16)/) return facts
    if (operation ~ /^call/) {
        split("rax rcx rdx rsi rdi r8 r9 r10 r11 F", items, " ")
        for (k = 1; k <= 10; k++) facts = without(facts, items[k])
        return facts
    }
    if (operation ~ /^mov/ && n == 2) {
        target = place(parts[2])
        if (target == "") return facts
        return having(facts, target, holding(parts[1], notes[i], facts))
    }
    if (operation ~ /^cmp/ && n == 2)
        return having(facts, "F", parts[1] == "$0x0" ? holding(parts[2], notes[i], facts) : "")
    if (operation ~ /^test/ && n == 2) {
        what = holding(parts[2], notes[i], facts)
        return having(facts, "F", parts[1] == parts[2] || (parts[1] == "$0x1" && what == "N") ? what : "")
    }
    if (operation ~ /^set/) {
        what = fact(facts, "F")
        target = place(parts[1])
        if (target == "") return facts
        return having(facts, target, operation == "sete" ? opposite(what) : operation == "setne" ? what : "")
    }
    # Anything else writes its last operand, and the flags.
    target = place(parts[n])
    if (target != "") facts = without(facts, target)
    if (operation ~ /^(push|pop)/ || target == "rsp") facts = withoutStackPointer(facts)
    if (operation ~ /^(lea|push|pop)/) return facts
    return without(facts, "F")
}

function withoutStackPointer(facts,    n, i, items, result) {
    n = split(facts, items, " ")
    result = ""
    for (i = 1; i <= n; i++) if (items[i] !~ /\(%rsp\)/) result = result " " items[i]
    return result
}

# Goes to instruction `i` with `facts`; again if that is news.
function visit(i, facts,    merged) {
    if (i > count) {
        problem(count, "runs past the end of the function")
        return
    }
    if (!(i in reached)) {
        reached[i] = 1
        known[i] = facts
        queue[++queued] = i
        return
    }
    merged = common(known[i], facts)
    if (merged != known[i]) {
        known[i] = merged
        queue[++queued] = i
    }
}

function problem(i, what,    line) {
    line = at[i] ": " texts[i] ": " what
    if (line in seen) return
    seen[line] = 1
    problems[++found] = line
}

# The symbol in "20c10 <symbol+0x10>".
function symbol(text) {
    if (!match(text, /<.*>/)) return ""
    text = substr(text, RSTART + 1, RLENGTH - 2)
    sub(/\+0x[0-9a-f]+$/, "", text)
    return text
}

function jump(i, facts,    word, target) {
    split(operands[i], word, " ")
    target = canonical(word[1])
    if (target in number) visit(number[target], facts)
    else leave(i)
}

# A call, or a jump out of the function, which is one too.
function leave(i,    callee) {
    if (i in left) return
    left[i] = 1
    callee = symbol(operands[i])
    if (callee != "" && callee ~ allowed) {
        cold[callee] = 1
        if (once != "" && callee ~ once && ++places > 1) problem(i, "the second call of its kind")
    } else problem(i, "calls " (callee == "" ? "something without a name" : callee))
}

function follow(i,    operation, facts, zero) {
    operation = operations[i]
    facts = after(i, known[i])
    if (operation == "ret" || operation == "ud2" || operation == "hlt") return
    if (operation == "jmp") {
        if (operands[i] ~ /^\*/) problem(i, "jumps where it cannot be followed")
        else jump(i, facts)
        return
    }
    if (operation ~ /^j/) {
        zero = fact(facts, "F")
        # Where membarrier is in use, V is not zero and N is.
        if ((operation == "je" && zero != "V") || (operation == "jne" && zero != "N") || operation !~ /^jn?e$/)
            jump(i, facts)
        if ((operation == "je" && zero != "N") || (operation == "jne" && zero != "V") || operation !~ /^jn?e$/)
            visit(i + 1, facts)
        return
    }
    visit(i + 1, facts)
}

function inspect(i,    operation) {
    operation = operations[i]
    if (operation == "lock") problem(i, "an atomic read-modify-write")
    else if (operation ~ /^xchg/ && operands[i] ~ /\(/) problem(i, "an atomic exchange")
    else if (operation ~ /^[lms]fence/) problem(i, "a fence")
    else if (operation ~ /^(syscall|int|sysenter)$/) problem(i, "a system call")
    else if (operation ~ /^call/) {
        if (operands[i] !~ /^\*/) leave(i)
        else if (observers == "none") problem(i, "calls something through its address")
        else indirect++
    }
}

function isOutside(i,    word) {
    split(operands[i], word, " ")
    return operands[i] !~ /^\*/ && !(canonical(word[1]) in number)
}

END {
    if (count == 0) {
        print name ": not disassembled"
        exit 3
    }
    queued = done = found = indirect = onPath = places = 0
    visit(1, "")
    while (done < queued) follow(queue[++done])
    for (i = 1; i <= count; i++) if (i in reached) {
        onPath++
        inspect(i)
    }
    calls = ""
    for (callee in cold) calls = calls " " callee
    print name
    print "    instructions on the main path: " onPath " of " count
    if (observers != "none") print "    calls of observers: " indirect
    print "    calls of cold functions:" (calls == "" ? " none" : calls)
    for (i = 1; i <= found; i++) print "    FORBIDDEN in " name ": " problems[i]
    if (indirect == 0 && observers == "some") {
        print "    FORBIDDEN no observer is called: this is not the walk"
        found++
    }
    print "    verdict: " (found ? "rejected" : "holds")
    exit found ? 1 : 0
}
