// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Transactions: MULTI, their commands, and EXEC.
#include "transaction.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

// EXEC's error for commands that a server refuses only at EXEC, from Redis 7 on.
constexpr std::string_view abort_reason = "EXECABORT Transaction discarded because of: ";

// True if EXEC was refused because of the hash slots of the keys. The server has then discarded the transaction.
bool is_about_slots(std::string_view word)
{
    return word == "MOVED" || word == "ASK" || word == "TRYAGAIN" || word == "CLUSTERDOWN" || word == "CROSSSLOT";
}

bool is_status(resp::Value const& reply, std::string_view word)
{
    return reply.type() == resp::Type::status && reply.as_string() == word;
}

} // namespace

void TransactionReplies::begin(std::size_t commands)
{
    commands_ = commands;
    missing_ = commands + 2;
    ran_apart_ = false;
    refused_command_.reset();
    result_ = {};
    apart_.clear();
    refused_.clear();
}

TransactionReplies::Progress TransactionReplies::take(resp::Value&& reply)
{
    bool const is_first = missing_ == commands_ + 2;
    bool const is_last = --missing_ == 0;
    if (is_first)
        return take_first(std::move(reply));
    return is_last ? take_last(std::move(reply)) : take_queued(std::move(reply));
}

TransactionReplies::Progress TransactionReplies::take_first(resp::Value&& reply)
{
    if (reply.is_ok())
        return Progress::more;
    if (!reply.is_error())
        return Progress::malformed;
    ran_apart_ = true;
    apart_.reserve(commands_ + 1);
    apart_.push_back(std::move(reply));
    return Progress::more;
}

TransactionReplies::Progress TransactionReplies::take_queued(resp::Value&& reply)
{
    if (ran_apart_) {
        apart_.push_back(std::move(reply));
        return Progress::more;
    }
    if (is_status(reply, "QUEUED"))
        return Progress::more;
    if (!reply.is_error())
        return Progress::malformed;
    refused_.emplace_back(commands_ - missing_, std::move(reply));
    return Progress::more;
}

TransactionReplies::Progress TransactionReplies::take_last(resp::Value&& reply)
{
    if (ran_apart_) {
        // EXEC without MULTI
        if (!reply.is_error())
            return Progress::malformed;
        result_ = resp::Value::list(resp::Type::array, std::move(apart_));
        apart_ = {};
        return Progress::done;
    }
    if (!reply.is_error()) {
        if (reply.type() != resp::Type::array || reply.elements().size() + refused_.size() != commands_)
            return Progress::malformed;
        result_ = refused_.empty() ? std::move(reply) : with_refused(reply);
        return Progress::done;
    }
    if (!refused_.empty())
        result_ = std::move(refused_.front().second);
    auto const word = reply.error_word();
    if (word == "EXECABORT") {
        if (!refused_.empty())
            refused_command_ = refused_.front().first;
        // the first refusal says more than the generic abort
        if (result_.is_null() && reply.as_string().starts_with(abort_reason))
            result_ = resp::Value::error(std::string(reply.as_string().substr(abort_reason.size())));
        else if (result_.is_null())
            result_ = std::move(reply);
        return Progress::done;
    }
    bool const discarded = is_about_slots(word);
    result_ = std::move(reply);
    // If a server before Redis 7 refuses EXEC because of a permission, it continues to queue commands.
    return discarded ? Progress::done : Progress::done_for_good;
}

resp::Value TransactionReplies::with_refused(resp::Value const& ran)
{
    std::vector<resp::Value> replies(ran.elements().begin(), ran.elements().end());
    for (auto& [at, refusal] : refused_)
        replies.insert(replies.begin() + static_cast<std::ptrdiff_t>(at), std::move(refusal));
    refused_.clear();
    return resp::Value::list(resp::Type::array, std::move(replies));
}

resp::Value TransactionReplies::take_result()
{
    return std::exchange(result_, {});
}

} // namespace tenure::redis
