// What random programs must have done at least once.
#include "tests/model/program.h"

namespace naive {

namespace {

constexpr std::pair<Do, unsigned> weights[] = {
    {Do::push, 20},       {Do::post, 16},   {Do::post_later, 4}, {Do::push_batch, 16},  {Do::post_batch, 5},
    {Do::put, 7},         {Do::flush, 6},   {Do::advance, 5},    {Do::cancel, 1},       {Do::create, 12},
    {Do::create_many, 2}, {Do::destroy, 2}, {Do::set, 5},        {Do::remove, 3},       {Do::reparent, 6},
    {Do::rename, 4},      {Do::intern, 1},  {Do::grant, 2},      {Do::return_grant, 1}, {Do::subscribe, 3},
    {Do::unsubscribe, 1}, {Do::spawn, 6},   {Do::merge, 2},      {Do::define, 4},       {Do::enable, 2},
    {Do::dismiss, 1},     {Do::sweep, 1},   {Do::hand_over, 1},  {Do::forget, 1}};

constexpr std::pair<Do, unsigned> wide_kinds[] = {
    {Do::push_several, 8}, {Do::post_several, 5}, {Do::put_several, 6}, {Do::flood, 2}};

}  // namespace

std::span<const std::pair<Do, unsigned>> step_weights(bool wide) {
  static const std::vector<std::pair<Do, unsigned>> all = [] {
    std::vector<std::pair<Do, unsigned>> made(std::begin(weights), std::end(weights));
    made.insert(made.end(), std::begin(wide_kinds), std::end(wide_kinds));
    return made;
  }();
  return wide ? std::span(all) : std::span(weights);
}

const std::vector<std::string>& wide_features() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const auto& [what, weight] : wide_kinds) made.push_back(std::string("step: ") + name(what));
    for (const char* each : {"span of several batches: pushed",
                             "span of several batches: posted",
                             "span of several batches: put into a lane",
                             "span of no batch: pushed",
                             "span of no batch: posted",
                             "span of no batch: put into a lane",
                             "a run of posts fills more than one batch",
                             "saved bytes compared while a cut cascade waits",
                             "saved and loaded with carried messages, causes recorded in one",
                             "way: no shortcuts",
                             "way: causes recorded",
                             "way: causes recorded now and then",
                             "way: figures kept",
                             "way: segments of 1024 bytes",
                             "way: segments of a megabyte",
                             "way: disturbed by pushes that a sink refuses",
                             "memory of a storm given back",
                             "replay: the same state",
                             "replay: a batch of a lane",
                             "replay: a cut cascade that was gone on with"})
      made.emplace_back(each);
    return made;
  }();
  return all;
}

const std::vector<std::string>& enableable_features() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made{"enableable component given first",
                                  "enableable component given again",
                                  "enableable component removed",
                                  "row passed over: it lacks an enableable component",
                                  "row passed over: it has an enableable component",
                                  "followed: Added",
                                  "followed: Changed",
                                  "followed: Removed",
                                  "saved and loaded",
                                  "tree spawned",
                                  "merging: a component was missing"};
    for (const HandlerKind& kind : drawn_kinds(true).subspan(drawn_kinds(false).size()))
      made.push_back(std::string("handler: ") + kind.name);
    return made;
  }();
  return all;
}

const std::vector<std::string>& features() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const auto& [what, weight] : step_weights(false)) made.push_back(std::string("step: ") + name(what));
    for (const HandlerKind& kind : drawn_kinds(false)) made.push_back(std::string("handler: ") + kind.name);
    for (const char* each : {"saved and loaded",
                             "saved and loaded with carried messages",
                             "saved and loaded with posts waiting",
                             "saved and loaded with timers waiting",
                             "cascade cut short",
                             "carried messages overtaken",
                             "timer fell due",
                             "timer fell due: a change of structure",
                             "created from another thread with granted ids",
                             "tree spawned from another thread",
                             "timer cancelled",
                             "message consumed",
                             "message changed for the handlers after",
                             "batch with a payload for each target",
                             "message to parts of a line: ancestors",
                             "message to parts of a line: self",
                             "message to parts of a line: descendants",
                             "handlers of a name disabled",
                             "handlers of a name enabled",
                             "handler begun inside a handler",
                             "handler ended inside a handler",
                             "handler that was begun inside a handler: ended from outside",
                             "refused in a cascade: name_taken",
                             "saved and loaded with handlers begun inside handlers",
                             "pass skipped by on_begin",
                             "pass of a message that a handler changes",
                             "pass consumed by an entity",
                             "messages dropped: too many wait",
                             "an input that goes before a cut cascade",
                             "carried messages dropped",
                             "handler of a structure message",
                             "component read from an ancestor",
                             "component read from the ancestor with another",
                             "component read from an ancestor, up to one with another",
                             "component not looked for above one with another",
                             "component read from the entity that a message names",
                             "component read from an ancestor of the entity that a message names",
                             "handler skipped: the entity that a message names lacks it",
                             "handler skipped: an ancestor has what it excludes",
                             "handler left out by its archetype filter",
                             "component looked up by id",
                             "handler skipped: no such ancestor",
                             "name clash: suffix taken",
                             "subtree destroyed",
                             "row moved by Set",
                             "SetField applied",
                             "SetFieldIf applied",
                             "subtree moved to another depth",
                             "middle node detached with its children",
                             "child put before another",
                             "runtime component: made",
                             "runtime component: made by a template",
                             "runtime component: moved with its row",
                             "runtime component: written by a handler",
                             "runtime component: restored by a load",
                             "runtime component: forgotten and known again",
                             "template defined",
                             "template replaced",
                             "template forgotten",
                             "template refused",
                             "template made from nothing",
                             "template made from an entity",
                             "template made from a base, plus and minus components",
                             "saved and loaded with templates",
                             "tree spawned",
                             "tree spawned by a handler",
                             "several trees spawned at once",
                             "component of a template replaced by the spawn",
                             "component added by the spawn",
                             "reference inside a template",
                             "initial message of a template",
                             "template merged into a tree",
                             "merging: a node met an entity by its name",
                             "merging: a node was missing",
                             "merging: a component was missing",
                             "merging: a field changed",
                             "told: Activated",
                             "told: Loaded",
                             "told: Loaded, of one that was there",
                             "told: Deactivated",
                             "manager: told of deaths",
                             "manager: swept the dead",
                             "saved and loaded with what a manager holds",
                             "id reused",
                             "order of handlers contradicts itself",
                             "message to one entity",
                             "message to a span",
                             "message to the world",
                             "message to parts of a line",
                             "message to a later time",
                             "table",
                             "followed: Added",
                             "followed: Removed",
                             "followed: Changed",
                             "refused: dead_entity",
                             "refused: id_not_granted",
                             "refused: missing_component",
                             "refused: unknown_component",
                             "refused: unknown_field",
                             "refused: name_taken",
                             "refused: bad_name",
                             "refused: cycle",
                             "refused: value_mismatch",
                             "refused: bad_value",
                             "refused: wrong_targets",
                             "refused: kept_by_registry",
                             "refused: before_is_no_child",
                             "refused: unknown_template",
                             "refused in a cascade: cycle"})
      made.emplace_back(each);
    return made;
  }();
  return all;
}

}  // namespace naive
