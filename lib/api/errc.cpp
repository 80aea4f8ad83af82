// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Error codes: names, messages and conditions.
#include <tenure/errc.hpp>

#include <string>

namespace tenure
{

namespace
{

char const* describe(errc value) noexcept
{
    switch (value) {
    case errc::timed_out:
        return "others held it until the wait ended: wait longer, or enlarge the pool if it is one";
    case errc::store_unavailable:
        return "the store did not answer in time: check that it runs and can be reached (Store::diagnostics() has "
               "details)";
    case errc::store_refused:
        return "the store answered with an error: Store::diagnostics() has its words";
    case errc::authentication_failed:
        return "the store rejected the user or password: check the credentials in the URL or config";
    case errc::permission_denied:
        return "the store's user lacks a permission that leases need: Store::diagnostics() names it";
    case errc::wrong_database:
        return "the store has no such database, or its user may not select it";
    case errc::wrong_server:
        return "the server is not of the kind that the URL names: Store::diagnostics() says what it is";
    case errc::tls_failed:
        return "TLS with the store failed: check certificate, host name and that the port speaks TLS";
    case errc::protocol_error:
        return "the server sent what the protocol does not allow: check that host and port are those of the store";
    case errc::key_conflict:
        return "another program's value is in the way: a key without expiry never becomes free (use another key or "
               "prefix, or "
               "delete it by hand), and a broken counter of fencing tokens must be deleted; Store::diagnostics() names "
               "the key";
    case errc::ttl_too_short:
        return "the round trip to the store leaves nothing of the ttl: use a longer ttl";
    case errc::lease_lost:
        return "the lease was lost: stop the work it covers";
    case errc::released:
        return "there is no lease, or it was released or detached before";
    case errc::closed:
        return "the store was closed";
    case errc::forked:
        return "this process is a fork of the one that opened the store: open it again after the fork";
    case errc::not_replicated:
        return "too few replicas acknowledged the claim in time, and it was given back: check the store's replicas";
    case errc::out_of_order:
        return "the holder holds a key that comes after this one, and checks its order: acquire keys in ascending "
               "order (Store::diagnostics() names both)";
    case errc::would_deadlock:
        return "the holder holds this key already and would wait for itself: use a ReentrantLock, or release it first";
    }
    return "unknown tenure error";
}

class TenureCategory final : public boost::system::error_category
{
public:
    TenureCategory() noexcept
        : error_category(0x7d1a3c5e9b2f4a61)
    {
    }
    [[nodiscard]] char const* name() const noexcept override { return "tenure"; }
    [[nodiscard]] std::string message(int value) const override { return describe(static_cast<errc>(value)); }
    char const* message(int value, char*, std::size_t) const noexcept override
    {
        return describe(static_cast<errc>(value));
    }
};

char const* describe(condition value) noexcept
{
    switch (value) {
    case condition::busy:
        return "held by others";
    case condition::try_later:
        return "may succeed later";
    case condition::misconfigured:
        return "the configuration must be changed";
    }
    return "unknown tenure condition";
}

bool belongs_to(errc error, condition value) noexcept
{
    switch (error) {
    case errc::timed_out:
        return value == condition::busy || value == condition::try_later;
    case errc::store_unavailable:
    case errc::store_refused:
    case errc::protocol_error:
    case errc::not_replicated:
        return value == condition::try_later;
    case errc::authentication_failed:
    case errc::permission_denied:
    case errc::wrong_database:
    case errc::wrong_server:
    case errc::tls_failed:
    case errc::key_conflict:
    case errc::ttl_too_short:
    case errc::out_of_order:
    case errc::would_deadlock:
        return value == condition::misconfigured;
    case errc::lease_lost:
    case errc::released:
    case errc::closed:
    case errc::forked:
        return false;
    }
    return false;
}

class ConditionCategory final : public boost::system::error_category
{
public:
    ConditionCategory() noexcept
        : error_category(0x7d1a3c5e9b2f4a62)
    {
    }
    [[nodiscard]] char const* name() const noexcept override { return "tenure.condition"; }
    [[nodiscard]] std::string message(int value) const override { return describe(static_cast<condition>(value)); }
    [[nodiscard]] bool equivalent(boost::system::error_code const& code, int value) const noexcept override
    {
        return code.category() == tenure_category() &&
               belongs_to(static_cast<errc>(code.value()), static_cast<condition>(value));
    }
};

} // namespace

boost::system::error_category const& tenure_category() noexcept
{
    static TenureCategory const category;
    return category;
}

boost::system::error_category const& condition_category() noexcept
{
    static ConditionCategory const category;
    return category;
}

error_code make_error_code(errc value) noexcept
{
    return {static_cast<int>(value), tenure_category()};
}

boost::system::error_condition make_error_condition(condition value) noexcept
{
    return {static_cast<int>(value), condition_category()};
}

} // namespace tenure
