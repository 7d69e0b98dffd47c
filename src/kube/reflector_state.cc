#include "kube/reflector_state.h"

namespace kollect::kube {
namespace {

bool is_list(Step step) {
  return step == Step::kListStream || step == Step::kListPages;
}

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
    case Step::kListStream:
      return "list by stream";
    case Step::kListPages:
      return "list by pages";
    case Step::kWatch:
      return "watch";
    case Step::kWaitToList:
      return "wait, then list";
    case Step::kWaitToWatch:
      return "wait, then watch";
    case Step::kStop:
      return "stop";
  }
  return "";
}

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::kComplete:
      return "complete";
    case Ending::kServerEnded:
      return "ended by the server";
    case Ending::kShortLived:
      return "ended at once";
    case Ending::kSilent:
      return "silent";
    case Ending::kExpired:
      return "expired";
    case Ending::kGarbled:
      return "garbled";
    case Ending::kNotOffered:
      return "not offered";
    case Ending::kNoEnd:
      return "no end mark";
    case Ending::kRefused:
      return "refused";
    case Ending::kBusy:
      return "busy";
    case Ending::kStopped:
      return "stopped";
  }
  return "";
}

Step next_step(Step step, Ending ending) {
  switch (ending) {
    case Ending::kStopped:
      return Step::kStop;
    case Ending::kComplete:
      return Step::kWatch;
    case Ending::kNotOffered:
      return Step::kListPages;
    case Ending::kExpired:
      // Between the pages of a list the pager has tried anew already.
      return is_list(step) ? Step::kWaitToList : Step::kListStream;
    case Ending::kNoEnd:
      return Step::kWaitToList;
    case Ending::kGarbled:
      return Step::kWaitToList;
    case Ending::kRefused:
      // What was allowed and served may have changed meanwhile: only a list tells.
      return Step::kWaitToList;
    case Ending::kServerEnded:
    case Ending::kSilent:
      // A list that breaks off proves nothing.
      return is_list(step) ? Step::kWaitToList : Step::kWatch;
    case Ending::kShortLived:
    case Ending::kBusy:
      return is_list(step) ? Step::kWaitToList : Step::kWaitToWatch;
  }
  return Step::kStop;
}

ReflectorState state_of(Step step) {
  switch (step) {
    case Step::kListStream:
    case Step::kListPages:
      return ReflectorState::kListing;
    case Step::kWatch:
      return ReflectorState::kWatching;
    case Step::kWaitToList:
    case Step::kWaitToWatch:
      return ReflectorState::kWaiting;
    case Step::kStop:
      return ReflectorState::kStopped;
  }
  return ReflectorState::kStopped;
}

}  // namespace kollect::kube
