"""Names that are likely to break what schemac writes."""

CPP = """alignas and asm auto bool break case catch char8_t class co_await compl concept const consteval constexpr decltype
default delete do double else enum explicit export extern false float for friend goto if import inline int long module
mutable namespace new noexcept not nullptr operator or override private public register requires return short signed
sizeof static static_assert struct switch template this throw true try typedef typeid typename union unsigned using
virtual void volatile wchar_t while xor final""".split()

TYPESCRIPT = """abstract any arguments as async await bigint boolean constructor debugger declare enum eval export extends
finally from function get global globalThis implements import in infer instanceof interface is keyof let module
namespace never null number object of package private prototype readonly require set static string super symbol type
typeof undefined unique unknown var with yield exports Array Uint8Array Promise Object Record Readonly Infinity NaN
toString valueOf hasOwnProperty __proto__ TypeKey QuestionKey schema name id fingerprint role value""".split()

MACROS = """NAN INFINITY LITTLE_ENDIAN BIG_ENDIAN INT_MAX EAGAIN M_PI BUFSIZ EOF NULL assert errno stdin stdout offsetof
si_pid alloca linux unix HUGE_VAL SIGINT PRId64 INT8_C isnan major minor va_arg setjmp TRUE FALSE CHAR_BIT RAND_MAX
LC_ALL SEEK_SET FE_INVALID OVERFLOW DOMAIN CLOCKS_PER_SEC sigmask timercmp EXIT_SUCCESS MB_CUR_MAX NSIG PATH_MAX
_GNU_SOURCE __linux__ __FILE__ _Bool __func__ _Complex""".split()

GLOBALS = """time index signal log exp abs div read write remove rename link access y0 gamma select stat tm FILE size_t
int32_t timespec pause round clock random system environ signgam bind connect rand std muster""".split()

# What the generated code itself uses.
OWN = """std muster Entity Text TypeTraits TypeId FieldEntry FieldKind TypeRole TableReader TableEncoder OffsetVector any
name_of write_table encode decode table_ root optional vector span array from to out inner element all place value a b
at4 at6 verified entries fields tag size view View Native schemas schema padding0_ padding1_ padding4_ begin end
int32_t string string_view unique_ptr make_unique byte static_cast""".split()

PLAIN = """x y class_ any_ Point game math units types Vec Health kind x_ X XView PointView name_of_ std_""".split()

# File names without `.fbs`.
STEMS = """game types units users class default node with-dash a.b two_words 1st new export any std scene""".split()
C_STEMS = """math time string signal errno muster schema""".split()

# Texts for comments and units.
DOCS = ["", " plain", " ends in a backslash \\", " */ ends a comment", " /* begins one", " \"quoted\" and 'quoted'", " ??/",
        " `ticks` ${here}", " tab\there", " \u202e turned", " // twice", "\u2028separated"]
