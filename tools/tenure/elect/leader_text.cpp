// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "elect/leader_text.hpp"

#include "output/table.hpp"
#include "output/time_text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <string_view>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

struct StateTerms {
    std::string_view name;
    /// of `tenure leader`
    ExitCode exit_code;
};

StateTerms terms_of(Leader::State state) noexcept
{
    switch (state) {
    case Leader::State::none:
        return {"none", attention};
    case Leader::State::present:
        return {"present", success};
    case Leader::State::stale:
        return {"stale", broken};
    case Leader::State::unknown:
        break;
    }
    return {"unknown", store_failed};
}

milliseconds age_of(Leader const& leader)
{
    return std::chrono::floor<milliseconds>(leader.age.value_or(std::chrono::nanoseconds{0}));
}

std::string contact_text(Leader const& leader)
{
    return leader.contact.empty() ? std::string() : ", contact " + printable(leader.contact);
}

std::string token_text(Leader const& leader)
{
    return leader.fencing_token ? ", token " + std::to_string(*leader.fencing_token) : std::string();
}

} // namespace

std::string as_text(LeaderNews const& news)
{
    auto const& leader = news.leader;
    auto const election = printable(news.election, 256);
    switch (leader.state) {
    case Leader::State::none:
        return "no program leads " + election;
    case Leader::State::present:
        return (leader.name.empty() ? "(other software)" : printable(leader.name)) + " leads " + election +
               contact_text(leader) + token_text(leader);
    case Leader::State::stale:
        return "stale: " + (leader.name.empty() ? "no known program" : printable(leader.name)) + " led " + election +
               contact_text(leader) + ", as " + news.store + " said " + describe(age_of(leader)) + " ago";
    case Leader::State::unknown:
        break;
    }
    return "unknown: " + news.store + " has not said who leads " + election;
}

std::string as_json(LeaderNews const& news)
{
    auto const& leader = news.leader;
    boost::json::object object;
    object["store"] = news.store;
    object["election"] = printable(news.election, 2048);
    object["at"] = utc_time(news.at);
    object["state"] = terms_of(leader.state).name;
    if (!leader.name.empty())
        object["leader"] = printable(leader.name);
    if (!leader.contact.empty())
        object["contact"] = printable(leader.contact);
    if (leader.fencing_token)
        object["fencing_token"] = std::to_string(*leader.fencing_token);
    if (leader.age)
        object["age_ms"] = age_of(leader).count();
    return boost::json::serialize(object);
}

ExitCode exit_code_for(Leader::State state) noexcept
{
    return terms_of(state).exit_code;
}

} // namespace tenure::tool
