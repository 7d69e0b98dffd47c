#include "kube/reflector_state.h"

#include <array>

namespace kollect::kube {

namespace {

using enum Step;
using enum Ending;
using enum Pause;

constexpr bool kShown = true;

/// A list that broke off by itself is tried by pages: whatever broke the stream (a proxy's time
/// limit, an object that the stream chokes on) would break it again. A row: the ending, then the
/// moves of kListStream, kListPages and kWatch.
struct Row {
  Ending ending;
  std::array<Move, kSteps> moves;
};

constexpr std::array<Row, kEndings> kTable{{
    {kComplete, {{{kWatch}, {kWatch}, {kWatch}}}},
    {kServerEnded, {{{kListPages, kBackoff, kShown}, {kListPages, kBackoff, kShown}, {kWatch}}}},
    {kShortLived,
     {{{kListPages, kBackoff, kShown}, {kListPages, kBackoff, kShown}, {kWatch, kBackoff}}}},
    {kCut, {{{kListPages, kBackoff, kShown}, {kListPages, kBackoff, kShown}, {kWatch, kBrief}}}},
    {kSilent, {{{kListPages}, {kListPages, kBackoff, kShown}, {kWatch}}}},
    {kNoAnswer,
     {{{kListPages, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kWatch, kBackoff, kShown}}}},
    {kUnmarked, {{{kListPages}, {kListPages, kBackoff, kShown}, {kListStream, kBackoff, kShown}}}},
    // A list names no resourceVersion, so a refused one is no reason to forget anything.
    {kExpired,
     {{{kListPages, kBackoff, kShown}, {kListPages, kBackoff, kShown}, {kListStream, kBackoff}}}},
    {kGarbled,
     {{{kListPages, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kListStream, kBackoff, kShown}}}},
    {kStuck,
     {{{kListPages, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kListStream, kBackoff, kShown}}}},
    {kRejected, {{{kListPages}, {kListPages, kBackoff, kShown}, {kListStream, kBackoff, kShown}}}},
    {kNoWatch, {{{kListPages}, {kListPages, kBackoff, kShown}, {kListPages, kLong, kShown}}}},
    {kRenewed, {{{kListStream}, {kListPages}, {kWatch}}}},
    {kUnauthorized,
     {{{kListStream, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kWatch, kBackoff, kShown}}}},
    // Who may not watch may still be allowed to list.
    {kForbidden, {{{kListPages}, {kListPages, kBackoff, kShown}, {kWatch, kBackoff, kShown}}}},
    // A kind that comes back is another one: its history does not go on.
    {kGone,
     {{{kListStream, kBackoff, kShown},
       {kListStream, kBackoff, kShown},
       {kListStream, kBackoff, kShown}}}},
    {kBusy,
     {{{kListStream, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kWatch, kBackoff, kShown}}}},
    {kUnreachable,
     {{{kListStream, kBackoff, kShown},
       {kListPages, kBackoff, kShown},
       {kWatch, kBackoff, kShown}}}},
    {kAsked, {{{kListStream}, {kListStream}, {kListStream}}}},
    {kStopped, {{{kStop}, {kStop}, {kStop}}}},
}};

constexpr bool every_ending_has_its_row() {
  for (std::size_t i = 0; i < kEndings; ++i) {
    if (kTable[i].ending != static_cast<Ending>(i)) return false;
  }
  return true;
}
static_assert(every_ending_has_its_row());

constexpr std::array<std::string_view, kEndings> kEndingNames{"complete",
                                                              "ended by the server",
                                                              "ended at once",
                                                              "cut",
                                                              "silent",
                                                              "no answer",
                                                              "no end mark",
                                                              "expired",
                                                              "unreadable",
                                                              "stuck",
                                                              "rejected",
                                                              "cannot be watched",
                                                              "credential renewed",
                                                              "unauthorized",
                                                              "forbidden",
                                                              "not served",
                                                              "busy",
                                                              "unreachable",
                                                              "list asked for",
                                                              "stopped"};

}  // namespace

std::string_view to_string(ReflectorState state) {
  switch (state) {
    case ReflectorState::kStarting:
      return "starting";
    case ReflectorState::kListing:
      return "listing";
    case ReflectorState::kWatching:
      return "watching";
    case ReflectorState::kWaiting:
      return "waiting";
    case ReflectorState::kStopped:
      return "stopped";
  }
  return "";
}

std::string_view to_string(Step step) {
  switch (step) {
    case kListStream:
      return "list by stream";
    case kListPages:
      return "list by pages";
    case kWatch:
      return "watch";
    case kStop:
      return "stop";
  }
  return "";
}

std::string_view to_string(Ending ending) {
  return kEndingNames[static_cast<std::size_t>(ending)];
}

Move next_move(Step step, Ending ending) {
  if (step == kStop) return {};
  return kTable[static_cast<std::size_t>(ending)].moves[static_cast<std::size_t>(step)];
}

ReflectorState state_of(Step step) {
  switch (step) {
    case kListStream:
    case kListPages:
      return ReflectorState::kListing;
    case kWatch:
      return ReflectorState::kWatching;
    case kStop:
      break;
  }
  return ReflectorState::kStopped;
}

}  // namespace kollect::kube
