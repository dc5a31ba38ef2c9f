// SPDX-License-Identifier: Apache-2.0

#include "peer.hpp"

#include <QObject>

class Sender : public QObject {
    Q_OBJECT
signals:
    void changed(long event);
};

/// A signal of a QObject, directly connected to functors that a second object is the context of.
struct Signal {
    Sender sender;
    QObject context;

    template <class Observer> auto connect(Observer observer) {
        return QObject::connect(&sender, &Sender::changed, &context, observer, Qt::DirectConnection);
    }
    void disconnect(const QMetaObject::Connection &connection) { QObject::disconnect(connection); }
    void notify(long event) { emit sender.changed(event); }
};

int main() { return serve<Signal>(2); }

#include "qt.moc"
