// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "chronicle.hpp"

#include "plan.hpp"
#include <tenure/backend/backend.hpp>
#include <tenure/cancellation_token.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace tenure::simulation
{

using namespace backend; // NOLINT(google-build-using-namespace): it speaks of the seam all the time

namespace
{

std::string_view request_name(std::uint8_t kind)
{
    constexpr std::array<std::string_view, 5> names{"claim", "renewal", "release", "withdrawal", "departure from line"};
    return names.at(kind);
}

std::string_view answer_name(std::int64_t answer)
{
    constexpr std::array<std::string_view, 6> names{"granted", "busy", "renewed", "not owner", "released", "refused"};
    return names.at(static_cast<std::size_t>(answer));
}

std::string_view news_name(WatchEvent event)
{
    switch (event) {
    case WatchEvent::in_force:
        return "hints come from now on about ";
    case WatchEvent::our_turn:
        return "it is its turn at ";
    case WatchEvent::others_turn:
        return "others were named for ";
    default:
        return "hint about ";
    }
}

std::string_view place_name(Waits waits)
{
    return waits == Waits::in_front ? ", in front of the line" : waits == Waits::in_line ? ", in line" : "";
}

std::string key_name(std::uint8_t key)
{
    return key == 0 ? "job" : key == 1 ? "plain" : "slot:" + std::to_string(key - 2);
}

std::string what(Entry const& entry)
{
    auto const owner = " of owner " + std::to_string(entry.owner % 10'000);
    auto const request =
        std::string(request_name(entry.detail < 5 ? entry.detail : 0)) + " " + key_name(entry.about) + owner;
    auto const number = std::to_string(entry.number);
    auto const worker = "worker " + std::to_string(entry.detail) + " ";
    switch (entry.note) {
    case Note::fault:
        return "FAULT " + std::string(name_of(static_cast<FaultKind>(entry.about)));
    case Note::fault_ends:
        return "end of " + std::string(name_of(static_cast<FaultKind>(entry.about)));
    case Note::process_starts:
        return "starts, life " + number;
    case Note::process_is_told_to_stop:
        return "is told to stop";
    case Note::process_dies:
        return "dies";
    case Note::process_stops:
        return "stands still for " + number + " ms";
    case Note::process_goes_on:
        return "goes on";
    case Note::asks:
        return "asks: " + request + std::string(place_name(static_cast<Waits>(entry.number)));
    case Note::gives_up_waiting:
        return "unknown: " + request;
    case Note::not_sent:
        return "not sent: " + request;
    case Note::dropped:
        return "message lost: " + request;
    case Note::repeated:
        return "message repeated: " + request;
    case Note::executes:
        return "store executes " + request + ": " + std::string(answer_name(entry.number));
    case Note::answers:
    case Note::answer_arrives:
        return "answer to " + request + ": " + std::string(answer_name(entry.number));
    case Note::hint_arrives:
        return std::string(news_name(static_cast<WatchEvent>(entry.number))) +
               std::string(name_of(static_cast<RangeId>(entry.about)));
    case Note::leaves_line:
        return "leaves the line of " + std::string(name_of(static_cast<RangeId>(entry.about)));
    case Note::connects:
        return "is connected";
    case Note::disconnects:
        return "loses its connection";
    case Note::wants:
        return worker + "wants " + std::string(name_of(static_cast<RangeId>(entry.about))) + " within " + number +
               " ms";
    case Note::cancels:
        return worker + "cancels";
    case Note::acquired:
        return worker + "acquired " + key_name(entry.about) + owner + ", token " + number;
    case Note::failed:
        return worker + "got no " + std::string(name_of(static_cast<RangeId>(entry.about))) + ", error " + number;
    case Note::token_fired:
        return "token fired: " + key_name(entry.about) + owner + ": " +
               std::string(to_string(static_cast<CancelReason>(entry.number)));
    case Note::token_ended:
        return "token ended: " + key_name(entry.about) + owner;
    case Note::releases:
        return "releases " + key_name(entry.about) + owner;
    case Note::detaches:
        return "leaves " + key_name(entry.about) + owner + " to expire in " + number + " ms";
    case Note::destroys:
        return "destroys the lease on " + key_name(entry.about) + owner;
    case Note::throws:
        return "throws, holding " + key_name(entry.about) + owner;
    case Note::serves:
        return "server runs " +
               std::string(server_commands.at(std::min<std::size_t>(entry.about, server_commands.size() - 1))) +
               " of connection " + number + (entry.owner == 0 ? "" : ": " + key_name(entry.detail) + owner);
    case Note::resizes:
        return "renews " + key_name(entry.about) + owner + " for " + number + " ms";
    }
    return "?";
}

} // namespace

std::string describe(Entry const& entry)
{
    auto const micros = entry.when / microsecond;
    auto fraction = std::to_string(micros % 1'000'000);
    auto text = std::to_string(micros / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
    text = std::string(text.size() < 10 ? 10 - text.size() : 0, ' ') + text + "  ";
    if (entry.process < most_processes)
        text += "process " + std::to_string(entry.process) + "  ";
    return text + what(entry);
}

std::string Chronicle::last(std::size_t count) const
{
    std::string text;
    for (auto entry = entries_.end() - static_cast<std::ptrdiff_t>(std::min(count, entries_.size()));
         entry != entries_.end(); ++entry)
        text += describe(*entry) + "\n";
    return text;
}

} // namespace tenure::simulation
